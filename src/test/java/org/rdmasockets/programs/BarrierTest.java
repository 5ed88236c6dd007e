package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.interop.Program;

/** {@code examples/Barrier}. Parity: ibverbs-rs's examples of barriers and of scatter and gather. */
@Execution(ExecutionMode.CONCURRENT)
class BarrierTest {
    private static final int NODES = 3;

    /** Where the nodes meet. */
    Place place() {
        return Place.here().orSkip();
    }

    @Test
    void nodesPassAllBarriersAndShareASum() throws Exception {
        Place place = place();
        List<String> nodes = place.freePorts(NODES).stream().map(port -> place.host() + ":" + port).toList();
        List<Program> programs = new ArrayList<>();
        try {
            for (int rank = 0; rank < NODES; rank++) {
                List<String> arguments = new ArrayList<>(List.of("" + rank));
                arguments.addAll(nodes);
                programs.add(place.example("Barrier", arguments.toArray(String[]::new)));
            }
            for (int rank = 0; rank < NODES; rank++) {
                programs.get(rank).awaitSuccess();
                for (String kind : List.of("CENTRAL", "BINARY_TREE", "DISSEMINATION")) {
                    programs.get(rank).awaitLine("node " + rank + " of 3 is past the barrier " + kind);
                }
            }
            assertEquals("2001000", programs.getFirst().awaitLine("the numbers from 1 to 2000 add up to "));
        } finally {
            programs.forEach(Program::close);
        }
    }
}
