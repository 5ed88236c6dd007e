package org.rdmasockets.internal.selection;

import java.util.ArrayList;
import java.util.List;

/** Why transports are not used, for people. */
final class Reasons {
    private final List<String> all = new ArrayList<>();

    /** Adds a transport; the reason why it is not used may begin with its name. */
    void add(String transport, String reason) {
        all.add(reason.startsWith(transport) ? reason : transport + ": " + reason);
    }

    /** Whether every transport is used. */
    boolean isEmpty() {
        return all.isEmpty();
    }

    String text() {
        return String.join("; ", all);
    }

    /** The reasons without words that have a number or an address: equal for connections that differ in these alone. */
    String kind() {
        StringBuilder kind = new StringBuilder();
        for (String reason : all) {
            for (String word : reason.split(" ")) {
                if (word.indexOf('/') < 0 && word.chars().noneMatch(Character::isDigit)) {
                    kind.append(word).append(' ');
                }
            }
        }
        return kind.toString();
    }
}
