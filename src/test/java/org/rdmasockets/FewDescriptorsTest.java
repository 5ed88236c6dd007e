package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.internal.ffi.Descriptors;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/**
 * The very first connection of a process that has no descriptor left, and whose classes lie in a folder: the JVM can
 * open no class file then, and a reference to a class that it could not find once fails for ever.
 */
@Timeout(value = 100, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FewDescriptorsTest {
    private static final InetAddress HERE = InetAddress.getLoopbackAddress();

    @Test
    void aServerTakesConnectionsAgain() throws Exception {
        Process process = start("server");
        try (BufferedReader output = process.inputReader()) {
            int port = Integer.parseInt(output.readLine());
            assertEquals("exhausted", output.readLine());
            try (RdmaSocket refused = socket()) {
                refused.connect(new InetSocketAddress(HERE, port), 1000);
                refused.setSoTimeout(1000);
                refused.getInputStream().read();
            } catch (IOException e) {
                System.out.println("meanwhile: " + e); // it may also be taken, as over TCP
            }
            goOn(process);
            String line = output.readLine();
            while (line != null && line.contains("WARN")) {
                line = output.readLine();
            }
            assertEquals("free again", line);
            try (RdmaSocket client = socket()) {
                client.connect(new InetSocketAddress(HERE, port), 20_000);
                client.setSoTimeout(20_000);
                client.getOutputStream().write(7);
                assertEquals(7, client.getInputStream().read());
            }
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void aClientConnectsAgain() throws Exception {
        Process process = start("client");
        try (BufferedReader output = process.inputReader(); RdmaServerSocket listener = listener()) {
            process.outputWriter().append(listener.getLocalPort() + "\n").flush();
            String failure = output.readLine();
            assertTrue(failure.startsWith("java.net.SocketException: ") && failure.contains("too many open files"),
                    failure);
            goOn(process);
            listener.setSoTimeout(20_000);
            try (RdmaSocket server = listener.accept()) {
                server.getOutputStream().write(7);
                assertEquals("7", output.readLine());
            }
        } finally {
            process.destroyForcibly();
        }
    }

    private static Process start(String role) throws IOException {
        return ChildJvm.start(List.of("bash", "-c", "ulimit -n 200; exec \"$@\"", "bash"),
                List.of("--enable-native-access=ALL-UNNAMED"), Main.class, role);
    }

    private static void goOn(Process process) throws IOException {
        process.outputWriter().append("go on\n").flush();
    }

    private static RdmaSocket socket() throws IOException {
        RdmaSocket socket = new RdmaSocket();
        socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        return socket;
    }

    private static RdmaServerSocket listener() throws IOException {
        RdmaServerSocket listener = new RdmaServerSocket();
        listener.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        listener.bind(new InetSocketAddress(HERE, 0));
        return listener;
    }

    /** The process; its parent says when it has descriptors again. */
    static final class Main {
        private Main() {
        }

        public static void main(String[] arguments) throws IOException {
            Descriptors.close(Descriptors.open("/dev/null"));
            if (arguments[0].equals("server")) {
                serve();
            } else {
                connect();
            }
        }

        private static void serve() throws IOException {
            try (RdmaServerSocket listener = listener()) {
                System.out.println(listener.getLocalPort());
                List<PacketSocket> taken = Descriptors.takeAll();
                System.out.println("exhausted");
                line();
                taken.forEach(PacketSocket::close);
                System.out.println("free again");
                while (true) {
                    try (RdmaSocket server = listener.accept()) {
                        int b = server.getInputStream().read();
                        if (b >= 0) {
                            server.getOutputStream().write(b);
                        }
                    }
                }
            }
        }

        private static void connect() throws IOException {
            InetSocketAddress address = new InetSocketAddress(HERE, Integer.parseInt(line()));
            RdmaSocket first = socket();
            List<PacketSocket> taken = Descriptors.takeAll();
            try {
                first.connect(address, 20_000);
                System.out.println("connected");
            } catch (IOException | LinkageError e) {
                System.out.println(e);
            }
            line();
            taken.forEach(PacketSocket::close);
            try (RdmaSocket second = socket()) {
                second.connect(address, 20_000);
                System.out.println(second.getInputStream().read());
            }
        }

        private static String line() throws IOException {
            StringBuilder line = new StringBuilder();
            for (int b = System.in.read(); b >= 0 && b != '\n'; b = System.in.read()) {
                line.append((char) b);
            }
            return line.toString();
        }
    }
}
