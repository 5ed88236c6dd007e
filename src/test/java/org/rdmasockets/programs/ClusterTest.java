package org.rdmasockets.programs;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.interop.Program;

/** {@code examples/Cluster}: a JGroups cluster of three processes, one of which is killed. */
@Execution(ExecutionMode.CONCURRENT)
class ClusterTest {
    private static final List<String> NAMES = List.of("A", "B", "C");

    /** Where the members meet. */
    Place place() {
        return Place.here().orSkip();
    }

    @Test
    void membersHearEachOtherAndSurviveALoss() throws Exception {
        Place place = place();
        survivesALoss(place, "over " + place.transport().name());
    }

    /** The same over TCP: it proves the test. */
    @Test
    void theSameOverTcp() throws Exception {
        survivesALoss(place().tcp(), "over tcp");
    }

    private static void survivesALoss(Place place, String transport) throws Exception {
        List<String> ports = place.freePorts(NAMES.size());
        try (Program a = startAndAwait(place, 0, ports, "A");
                Program b = startAndAwait(place, 1, ports, "A, B");
                Program c = startAndAwait(place, 2, ports, "A, B, C")) {
            for (Program each : List.of(a, b, c)) {
                assertHears(each, "A, B, C", "A", "B", "C");
                each.awaitText(transport);
            }
            c.kill();
            for (Program each : List.of(a, b)) {
                assertHears(each, "A, B, no longer C", "A", "B");
            }
        }
    }

    private static void assertHears(Program member, String seen, String... speakers) throws InterruptedException {
        for (String speaker : speakers) {
            member.awaitLine(speaker + " says: I see " + seen);
        }
    }

    /** One after the other, or they would found several clusters and merge them later. */
    private static Program startAndAwait(Place place, int index, List<String> ports, String seen) throws Exception {
        List<String> arguments = new ArrayList<>(List.of(NAMES.get(index), place.host(), ports.get(index)));
        ports.stream().filter(port -> !port.equals(ports.get(index))).forEach(arguments::add);
        Program member = Program.java(place.options(), "Cluster", arguments.toArray(String[]::new));
        try {
            assertHears(member, seen, NAMES.get(index));
            return member;
        } catch (AssertionError | InterruptedException e) {
            member.close();
            throw e;
        }
    }
}
