package org.rdmasockets.fault;

import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.interop.TestBed;

/** The Java twin of victim.py: a process that opens connections and is killed. */
final class Victim {
    private Victim() {
    }

    /**
     * Opens connections, tells it, and reads the second for ever.
     *
     * @param arguments {@code connect HOST PORT COUNT} or {@code listen HOST COUNT}
     */
    static void main(String[] arguments) throws IOException {
        ServerSocket server = arguments[0].equals("listen") ? TestBed.listen() : null;
        if (server != null) {
            System.out.println("listening " + server.getLocalPort());
        }
        List<Socket> connections = new ArrayList<>();
        int count = Integer.parseInt(arguments[arguments.length - 1]);
        for (int i = 0; i < count; i++) {
            Socket socket = server == null ? TestBed.connect(Integer.parseInt(arguments[2])) : server.accept();
            connections.add(socket);
            if (socket.getInputStream().read() < 0) {
                throw new IOException("connection " + i + " ended early");
            }
        }
        System.out.println("ready");
        InputStream in = connections.get(1).getInputStream();
        byte[] buffer = new byte[65_536];
        while (in.read(buffer) >= 0) {
            continue;
        }
        throw new IOException("the connection that should last has ended");
    }
}
