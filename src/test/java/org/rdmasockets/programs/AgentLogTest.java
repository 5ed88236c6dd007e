package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.interop.Program;

/** No log of a program under the agent stops the program's sockets: {@link LoggingGuest}. */
@Execution(ExecutionMode.CONCURRENT)
class AgentLogTest {
    private static String run(String what, String... options) throws Exception {
        List<String> all = new ArrayList<>(Place.here().orSkip().options("-javaagent:" + Place.agent()));
        all.addAll(List.of(options));
        all.addAll(List.of("-cp", "target/test-classes", LoggingGuest.class.getName()));
        try (Program program = Program.start(Place.java(all, what))) {
            return program.awaitSuccess();
        }
    }

    private static void assertSays(String expected, String what) throws Exception {
        String output = run(what);
        assertEquals(expected.lines().toList(), output.lines().filter(line -> line.startsWith("> "))
                .map(line -> line.substring(2)).toList(), output);
    }

    @Test
    void aHandlerThatOpensASocketForEachLineStopsNobody() throws Exception {
        assertSays("went on", "sends");
    }

    @Test
    void aHandlerThatBlocksHoldsUpNobody() throws Exception {
        assertSays("Accept timed out\nwent on", "blocks");
    }

    @Test
    void aHandlerThatThrowsAnErrorBreaksNoConnectionAndGetsTheNextLine() throws Exception {
        assertSays("went on", "fails");
    }

    @Test
    void eachLineNamesTheClassThatSpeaks() throws Exception {
        assertSays("each line names its place", "sources");
    }

    /** It counts every connection, too. */
    @Test
    void aServerThatAcceptsInALoopIsNotToldToAcceptMoreOften() throws Exception {
        assertSays("0 lines of the backlog", "burst");
    }

    @Test
    void aServerThatDoesNotAcceptIsTold() throws Exception {
        assertSays("said so", "behind");
    }

    @Test
    void aLevelMayChange() throws Exception {
        assertSays("details are written once asked for", "level");
    }

    @Test
    void theExitLosesNoWarning() throws Exception {
        String output = run("exits", "-Dorg.rdmasockets.sendQueue=many");
        assertTrue(output.contains("WARNING: -Dorg.rdmasockets.sendQueue=many is ignored"), output);
    }
}
