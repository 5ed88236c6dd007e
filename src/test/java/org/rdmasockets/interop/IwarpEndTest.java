package org.rdmasockets.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;

/**
 * Over iWARP a write completes when TCP has it. If the connection ended then, its end would be lost whenever the peer
 * says that there is room for more: so who closes waits until the peer has gone. Here TCP sends a segment at a time.
 */
@Tag("device")
class IwarpEndTest {
    private static final int ROUNDS = 5;
    private static final int MESSAGE_BYTES = 4096;
    private static final int MESSAGES = 100;
    /** What TCP counts as not acknowledged when nothing is left but its own end. */
    private static final int END = 1;

    @BeforeEach
    void slowDown() throws Exception {
        Assumptions.assumeTrue(!TestBed.tcp() && TestBed.iwarp(), "elsewhere a completion proves delivery");
        changeRoute("cwnd", "lock", "1");
    }

    @AfterEach
    void restore() throws Exception {
        if (!TestBed.tcp() && TestBed.iwarp()) {
            changeRoute();
        }
    }

    /** To the device's own address, over the network device that it has in the guest. */
    private static void changeRoute(String... metrics) throws Exception {
        String address = TestBed.address().getHostAddress();
        List<String> command = new ArrayList<>(List.of("ip", "route", "change", "table", "local", "local", address,
                "dev", "v0", "proto", "kernel", "scope", "host", "src", address));
        command.addAll(List.of(metrics));
        try (Program program = Program.start(command.toArray(String[]::new))) {
            program.awaitSuccess();
        }
    }

    @Test
    void nothingIsLeftToSendWhenTheConnectionEnds() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            try (ServerSocket listener = TestBed.listen()) {
                Call<Void> writing = Call.run(ThreadKind.PLATFORM, "write and close", () -> writeAndClose(listener));
                try (Socket reader = TestBed.connect(listener.getLocalPort())) {
                    Call<byte[]> reading = Call.start(ThreadKind.PLATFORM, "read",
                            reader.getInputStream()::readAllBytes);
                    long left = 0;
                    while (!reading.isDone()) {
                        left = Math.max(left, leftAtTheEnd());
                        Thread.sleep(2);
                    }
                    assertEquals(MESSAGES * MESSAGE_BYTES, reading.result().length);
                    assertTrue(left <= END, "the connection ended with " + left + " bytes still to send");
                }
                writing.result();
            }
        }
    }

    private static void writeAndClose(ServerSocket listener) throws IOException {
        byte[] message = new byte[MESSAGE_BYTES];
        try (Socket writer = listener.accept()) {
            OutputStream out = writer.getOutputStream();
            for (int i = 0; i < MESSAGES; i++) {
                out.write(message);
            }
        }
    }

    /** Of all TCP connections that one end has closed ({@code FIN-WAIT-1}), the most that is not acknowledged. */
    private static long leftAtTheEnd() throws IOException {
        long most = 0;
        for (String line : Files.readAllLines(Path.of("/proc/net/tcp"))) {
            String[] fields = line.strip().split(" +");
            if (fields[3].equals("04")) {
                most = Math.max(most, Long.parseLong(fields[4].substring(0, fields[4].indexOf(':')), 16));
            }
        }
        return most;
    }
}
