package org.rdmasockets;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;

/** A JVM that listens and stops as it is told, and says its name to each client. */
final class ListenerMain {
    private ListenerMain() {
    }

    /** Reads ports from standard input: a number to listen on, or nothing to stop; answers each with a line. */
    public static void main(String[] arguments) throws IOException {
        BufferedReader told = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        RdmaServerSocket server = null;
        for (String line = told.readLine(); line != null; line = told.readLine()) {
            if (line.isEmpty()) {
                server.close();
                System.out.println("stopped");
            } else {
                server = new RdmaServerSocket(Integer.parseInt(line), 50, InetAddress.ofLiteral("127.0.0.1"));
                RdmaServerSocket listening = server;
                Thread.ofPlatform().daemon().start(() -> sayName(listening, arguments[0]));
                System.out.println("port " + server.getLocalPort());
            }
        }
    }

    private static void sayName(RdmaServerSocket server, String name) {
        while (true) {
            try (RdmaSocket socket = server.accept()) {
                socket.getOutputStream().write(name.getBytes(StandardCharsets.UTF_8));
            } catch (IOException e) {
                return;
            }
        }
    }
}
