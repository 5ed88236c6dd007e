package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmasockets.interop.Program;

/** {@code RdmaSockets.install()} for datagrams, in a process of its own, for it is for good. */
class InstalledDatagramSocketsTest {
    private static final String NET = "--add-opens=java.base/java.net=ALL-UNNAMED";
    private static final String CHANNELS = "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED";
    private static final String DATAGRAMS = "-Dorg.rdmasockets.datagrams=true";

    private static Program suite(String... options) throws IOException {
        return Program.java(List.of(options), "org.junit.platform.console.ConsoleLauncher", "execute",
                "--select-class", InstalledDatagramSockets.class.getName(), "--disable-banner",
                "--disable-ansi-colors");
    }

    @Test
    void plainSocketsDoWhatRdmaSocketsDo() throws Exception {
        try (Program suite = suite(NET, CHANNELS, DATAGRAMS)) {
            String output = suite.awaitSuccess();
            assertTrue(output.contains("[         0 tests failed"), output);
        }
    }

    @Test
    void whatIsNotOpenIsNamed() throws Exception {
        try (Program suite = suite(NET, DATAGRAMS)) {
            assertEquals(1, suite.awaitEnd());
            assertTrue(suite.output().contains("--add-opens java.base/sun.nio.ch=ALL-UNNAMED"), suite.output());
        }
    }
}
