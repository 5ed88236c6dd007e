package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmasockets.interop.Program;

/** A web application that was the first to use the library goes in full when it is undeployed, whatever it used. */
@Tag("further-jvms")
class RedeployTest {
    @ParameterizedTest
    @ValueSource(strings = {"sockets", "auto", "tcp", "installed", "endpoints", "nodes"})
    void nothingOfTheFirstUserIsKept(String way) throws Exception {
        List<String> options = List.of("-XX:TieredStopAtLevel=1", "--add-opens=java.base/java.lang=ALL-UNNAMED",
                "--add-opens=java.base/java.net=ALL-UNNAMED");
        try (Program child = Program.java(options, RedeployMain.class.getName(), way)) {
            assertEquals(0, child.awaitEnd(), child::toString);
            assertTrue(child.output().contains("thread rdma-"), child::toString);
            assertFalse(child.output().contains("leak: "), child::toString);
            assertTrue(child.output().contains("collected"), child::toString);
        }
    }
}
