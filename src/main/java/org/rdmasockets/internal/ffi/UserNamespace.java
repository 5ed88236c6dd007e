package org.rdmasockets.internal.ffi;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.StringTokenizer;

/**
 * The meaning of user numbers here. In a user namespace all users without a number of their own read as one overflow
 * number, so two processes that read so may belong to two users.
 */
final class UserNamespace {
    private static final Path MAP = Path.of("/proc/self/uid_map");
    private static final Path OVERFLOW = Path.of("/proc/sys/kernel/overflowuid");
    private static final int DEFAULT_OVERFLOW = 65534;
    private static final long ALL_USERS = 0xFFFF_FFFFL;

    private UserNamespace() {}

    /** The number that users without one read as. */
    static int overflowUser() {
        return overflowUser(OVERFLOW);
    }

    private static int overflowUser(Path file) {
        try {
            return Integer.parseUnsignedInt(SharedMemoryAvailability.read(file).strip());
        } catch (IOException | RuntimeException e) {
            return DEFAULT_OVERFLOW;
        }
    }

    /** The number of a user in the namespace above, the same for processes of one user in it and here. */
    static long outerUser(int user) {
        long number = Integer.toUnsignedLong(user);
        for (long[] range : map(MAP)) {
            if (number >= range[0] && number - range[0] < range[2]) {
                return range[1] + number - range[0];
            }
        }
        return number;
    }

    /** Ranges of numbers here, their first one above, and how many; empty if they cannot be read. */
    private static List<long[]> map(Path file) {
        try {
            List<long[]> ranges = new ArrayList<>();
            StringTokenizer words = new StringTokenizer(SharedMemoryAvailability.read(file));
            while (words.hasMoreTokens()) {
                ranges.add(new long[] {Long.parseLong(words.nextToken()), Long.parseLong(words.nextToken()),
                    Long.parseLong(words.nextToken())});
            }
            return ranges;
        } catch (IOException | RuntimeException e) {
            return List.of();
        }
    }

    /** Why a user cannot be told from others, by these files. */
    static Optional<String> problem(int user, Path map, Path overflow) {
        boolean all = user != overflowUser(overflow);
        for (long[] range : map(map)) {
            all |= range[2] == ALL_USERS;
        }
        if (all) {
            return Optional.empty();
        }
        return Optional.of("Processes cannot share memory here: this process runs as user "
                + Integer.toUnsignedString(user) + ", which in this user namespace stands for every user without a "
                + "number of its own; map the user (unshare --map-current-user, or the uid map of the container)");
    }

    /** Why the user of this process cannot be told from others. */
    static Optional<String> problem() {
        return problem(PacketSocket.ownUser(), MAP, OVERFLOW);
    }
}
