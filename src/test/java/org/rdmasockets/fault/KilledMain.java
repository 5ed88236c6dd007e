package org.rdmasockets.fault;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/** A process with connections of all kinds that is killed. */
final class KilledMain {
    /** As many as {@link Kills} has kinds of. */
    static final int CONNECTIONS = 4;

    private KilledMain() {
    }

    /**
     * Opens the connections one by one, each ready once a byte came, reads the first and writes to the second for ever.
     *
     * @param arguments the port to connect to, or none to accept
     */
    static void main(String[] arguments) throws IOException {
        ServerSocket server = Neighbours.listen();
        System.out.println("listening " + server.getLocalPort());
        List<Socket> sockets = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            Socket socket = arguments.length == 0 ? server.accept()
                    : Neighbours.connect(Integer.parseInt(arguments[0]));
            sockets.add(socket);
            if (socket.getInputStream().read() != 1) {
                throw new IOException("connection " + i + " ended early");
            }
        }
        System.out.println("ready");
        Attempt.start("writer", () -> complain(() -> sendForEver(sockets.get(1).getOutputStream())));
        complain(() -> receive(sockets.get(0).getInputStream()));
    }

    private static int sendForEver(OutputStream out) throws IOException {
        while (true) {
            out.write(SoakTraffic.CONTENT);
        }
    }

    private static int receive(InputStream in) throws IOException {
        byte[] buffer = new byte[65_536];
        long received = 0;
        for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
            SoakTraffic.compare(buffer, count, received);
            received += count;
        }
        throw new IOException("end of stream");
    }

    /** Nothing may end before this process is killed. */
    private static int complain(Attempt.Call call) {
        try {
            return call.run();
        } catch (IOException e) {
            System.out.println("ended early: " + e);
            return -1;
        }
    }
}
