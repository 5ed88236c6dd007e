package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** A JVM with {@code preferIPv4Stack} neither reaches nor serves addresses of version 6, over any transport. */
@Timeout(120)
class StackTest {
    private static final List<String> OPTIONS = List.of("-Djava.net.preferIPv4Stack=true",
            "--enable-native-access=ALL-UNNAMED");

    @Test
    void aJvmOfVersionFourRefusesVersionSixAsJavaNetDoesAndServesOnlyFour() throws Exception {
        Process process = ChildJvm.start(List.of(), OPTIONS, StackMain.class);
        try {
            BufferedReader output = process.inputReader();
            List<String> expected = outcomes(output, "java.net");
            assertEquals(List.of(" connect: SocketException: IPv6 protocol family unavailable, closed=true",
                    " bind: SocketException: IPv6 protocol family unavailable, closed=false",
                    " listen: SocketException: IPv6 protocol family unavailable, closed=false"), expected);
            for (Transport transport : new Transport[] {Transport.AUTO, Transport.TCP, Transport.SHARED_MEMORY}) {
                assertEquals(expected, outcomes(output, transport.name()), transport::name);
                servesOnlyFour(Integer.parseInt(next(output)), transport);
                process.getOutputStream().write('\n');
                process.getOutputStream().flush();
            }
        } finally {
            process.destroyForcibly();
        }
    }

    private static List<String> outcomes(BufferedReader output, String family) throws IOException {
        List<String> outcomes = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            String line = next(output);
            assertTrue(line.startsWith(family), line);
            outcomes.add(line.substring(family.length()));
        }
        return outcomes;
    }

    /** The next line of the trial; what loggers say is left out. */
    private static String next(BufferedReader output) throws IOException {
        String line = output.readLine();
        while (line != null && line.startsWith("[")) {
            line = output.readLine();
        }
        assertTrue(line != null, "the other JVM has ended");
        return line;
    }

    private static void servesOnlyFour(int port, Transport transport) throws IOException {
        try (RdmaSocket six = new RdmaSocket(); RdmaSocket four = new RdmaSocket()) {
            six.setOption(RdmaSocketOptions.TRANSPORT, transport);
            assertThrows(ConnectException.class,
                    () -> six.connect(new InetSocketAddress(InetAddress.ofLiteral("::1"), port), 30_000));
            four.setOption(RdmaSocketOptions.TRANSPORT, transport);
            four.connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port), 30_000);
        }
    }
}
