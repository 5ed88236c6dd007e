package org.rdmasockets;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;

/**
 * Measures what idle connections cost: the processor time of a process whose connections all have a virtual thread in
 * read, at both ends. Run it in the test guest: {@code IdleProbe ADDRESS [CONNECTIONS [SECONDS]]}.
 */
final class IdleProbe {
    private static final double LIMIT_PERCENT = 1.0;

    private IdleProbe() {
    }

    /**
     * Prints the share of a core before and with the connections; ends with status 1 if the latter is above the limit.
     *
     * @param args address of the device, connections (100), seconds (10)
     */
    public static void main(String[] args) throws Exception {
        InetAddress address = InetAddress.ofLiteral(args[0]);
        int connections = args.length > 1 ? Integer.parseInt(args[1]) : 100;
        int seconds = args.length > 2 ? Integer.parseInt(args[2]) : 10;
        double without = percentOfACore(seconds);
        List<Socket> sockets = new ArrayList<>();
        try (RdmaServerSocket listener = new RdmaServerSocket(0, 50, address)) {
            for (int i = 0; i < connections; i++) {
                Socket client = new RdmaSocket(address, listener.getLocalPort());
                Socket server = listener.accept();
                client.getOutputStream().write(1);
                server.getInputStream().read();
                sockets.add(client);
                sockets.add(server);
            }
            for (Socket socket : sockets) {
                Call.start(ThreadKind.VIRTUAL, "read", () -> socket.getInputStream().read()).awaitBlocked();
            }
            double with = percentOfACore(seconds);
            System.out.printf("%d idle connections: %.2f %% of a core over %d s; without any: %.2f %%%n", connections,
                    with, seconds, without);
            for (Socket socket : sockets) {
                socket.close();
            }
            System.exit(with < LIMIT_PERCENT ? 0 : 1);
        }
    }

    private static double percentOfACore(int seconds) throws IOException {
        Duration before = processorTime();
        long start = System.nanoTime();
        long end = start + Duration.ofSeconds(seconds).toNanos();
        while (System.nanoTime() - end < 0) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
        return 100.0 * processorTime().minus(before).toNanos() / (System.nanoTime() - start);
    }

    private static Duration processorTime() throws IOException {
        return ProcessHandle.current().info().totalCpuDuration()
                .orElseThrow(() -> new IOException("the system does not tell this process's processor time"));
    }
}
