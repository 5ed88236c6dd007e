package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The rcopy of rdma-core and examples/FileCopy copy a large file to each other. */
@Tag("device")
class RcopyInteropTest {
    private static final int BYTES = 100_000_000;
    private static final String PORT = "7427";

    /** A client process that is to be started. */
    @FunctionalInterface
    private interface Start {
        Program client() throws IOException;
    }

    @TempDir
    private Path directory;
    private Path original;

    @BeforeEach
    void makeFile() throws IOException {
        assumeFalse(TestBed.tcp(), "rcopy has rsockets only");
        original = directory.resolve("original");
        byte[] piece = new byte[1_000_000];
        Random random = new Random(BYTES);
        try (OutputStream file = Files.newOutputStream(original)) {
            for (int i = 0; i < BYTES / piece.length; i++) {
                random.nextBytes(piece);
                file.write(piece);
            }
        }
    }

    @Test
    void rcopySendsToFileCopy() throws Exception {
        Path received = Files.createDirectory(directory.resolve("received"));
        try (Program server = Program.java("FileCopy", "server", received.toString(), "-p", PORT)) {
            copy(server, () -> Program.start("rcopy", original.toString(), destination("copy"), "-p", PORT));
        }
        assertSame(received.resolve("copy"));
    }

    @Test
    void fileCopySendsToRcopy() throws Exception {
        Path copy = directory.resolve("copy");
        try (Program server = Program.start("rcopy", "-p", PORT)) {
            copy(server, () -> Program.java("FileCopy", original.toString(), destination(copy.toString()), "-p", PORT));
        }
        assertSame(copy);
    }

    private static String destination(String file) throws IOException {
        return TestBed.address().getHostAddress() + ":" + file;
    }

    /** Neither server says when it listens: a client that comes too early is refused, and comes again. */
    private static void copy(Program server, Start start) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TestBed.PATIENCE_MILLIS * 1_000_000L;
        while (true) {
            try (Program client = start.client()) {
                client.awaitEnd();
                if (!client.output().contains("Connection refused") || System.nanoTime() > deadline) {
                    client.awaitSuccess();
                    return;
                }
            }
            assertTrue(server.isAlive(), server::toString);
        }
    }

    private void assertSame(Path copy) throws IOException, NoSuchAlgorithmException {
        assertEquals(BYTES, Files.size(copy), "size");
        assertEquals(sha256(original), sha256(copy), "SHA-256");
    }

    private static String sha256(Path file) throws IOException, NoSuchAlgorithmException {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        try (InputStream in = new DigestInputStream(Files.newInputStream(file), digest)) {
            assertFalse(in.transferTo(OutputStream.nullOutputStream()) == 0, "an empty file");
        }
        return HexFormat.of().formatHex(digest.digest());
    }
}
