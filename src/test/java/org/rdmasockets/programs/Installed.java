package org.rdmasockets.programs;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketImplFactory;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.rmi.Remote;
import java.rmi.RemoteException;
import java.rmi.registry.LocateRegistry;
import java.rmi.registry.Registry;
import java.rmi.server.UnicastRemoteObject;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.RdmaSockets;
import org.rdmasockets.Transport;
import org.rdmasockets.TransportCounters;
import org.rdmasockets.contract.FreePorts;

/** A program whose sockets are replaced: it uses none but those of {@code java.net}, and prints what it saw. */
final class Installed {
    private static final int PATIENCE_SECONDS = 60;
    private static final List<Transport> TRANSPORTS = List.of(Transport.SHARED_MEMORY, Transport.IBVERBS,
            Transport.TCP);

    private final InetAddress address;
    /** Listens since before the sockets were replaced. */
    private final ServerSocket early;

    private Installed(InetAddress address, ServerSocket early) {
        this.address = address;
        this.early = early;
    }

    /**
     * Prints lines that begin with "saw".
     *
     * @param args the address to meet at; or "dial" and an address to dial, for its exception; or the kind of foreign
     *        factories
     * @throws Exception if it fails
     */
    public static void main(String[] args) throws Exception {
        if (args[0].equals("dial")) {
            RdmaSockets.install();
            dial(args[1]);
            return;
        }
        if (args[0].startsWith("foreign")) {
            meetForeigners(args[0]);
            return;
        }
        InetAddress address = InetAddress.getByName(args[0]);
        try (ServerSocket early = new ServerSocket(0, 5, address)) {
            RdmaSockets.install();
            RdmaSockets.install();
            new Installed(address, early).run();
        }
        System.exit(0); // RMI's threads would go on
    }

    /** Foreign factories: that of sockets, or that of server sockets alone. */
    @SuppressWarnings("deprecation") // other programs use them nevertheless
    private static void meetForeigners(String which) throws IOException {
        SocketImplFactory foreign = () -> {
            throw new IllegalStateException("not ours");
        };
        if (which.equals("foreign sockets")) {
            Socket.setSocketImplFactory(foreign);
        } else {
            ServerSocket.setSocketFactory(foreign);
        }
        for (int i = 0; i < 2; i++) {
            try {
                RdmaSockets.install();
                System.out.println("installed");
            } catch (SocketException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    private static void dial(String host) {
        try (Socket socket = new Socket(host, 80)) {
            System.out.println("connected to " + socket);
        } catch (IOException e) {
            System.out.println(e);
        }
    }

    private void run() throws Exception {
        seeTcp();
        seeSockets();
        seeSubclass();
        if (System.getProperty("org.rdmasockets.transport").equals(Transport.AUTO.name())) {
            seeHttp(); // where RDMA is forced, nothing reaches a server that only speaks TCP
        }
        seeRmi();
        seeLogger();
    }

    private void seeTcp() throws IOException {
        try (Socket client = tcpClient(); Socket accepted = early.accept()) {
            client.getOutputStream().write("from before".getBytes());
            client.shutdownOutput();
            System.out.println("saw tcp: " + new String(accepted.getInputStream().readAllBytes()));
        }
    }

    /** A client that reaches plain TCP servers also where another transport is forced. */
    private Socket tcpClient() throws IOException {
        Socket client = new Socket();
        client.setOption(RdmaSocketOptions.TRANSPORT, Transport.TCP);
        client.connect(early.getLocalSocketAddress());
        return client;
    }

    private void seeSockets() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 5, address);
                Socket client = new Socket(address, server.getLocalPort());
                Socket accepted = server.accept()) {
            System.out.println("saw sockets: " + transport(client) + " " + transport(accepted));
        }
    }

    /** A socket class of its own, as TLS has. */
    private static final class OwnSocket extends Socket {
    }

    /** Accepts such sockets. */
    private static final class OwnServerSocket extends ServerSocket {
        OwnServerSocket(InetAddress address) throws IOException {
            super(0, 5, address);
        }

        @Override
        public Socket accept() throws IOException {
            OwnSocket socket = new OwnSocket();
            implAccept(socket);
            return socket;
        }
    }

    private void seeSubclass() throws IOException {
        try (ServerSocket server = new OwnServerSocket(address);
                Socket client = new Socket(address, server.getLocalPort());
                Socket accepted = server.accept()) {
            client.getOutputStream().write(7);
            System.out.println("saw subclass: " + (accepted.getInputStream().read() == 7 ? transport(accepted) : "-"));
        }
    }

    /** The JDK's own client goes through the factory, its server does not. */
    private void seeHttp() throws IOException {
        System.setProperty("sun.net.client.defaultConnectTimeout", "60000");
        HttpServer server = HttpServer.create(new InetSocketAddress(address, 0), 5);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, 5);
            exchange.getResponseBody().write("hello".getBytes());
            exchange.close();
        });
        server.start();
        String url = "http://" + address.getHostAddress() + ":" + server.getAddress().getPort() + "/";
        HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection(Proxy.NO_PROXY);
        try (InputStream body = connection.getInputStream()) {
            System.out.println("saw http: " + connection.getResponseCode() + " " + new String(body.readAllBytes()));
        }
        server.stop(0);
    }

    /** Calls over the network. */
    public interface Shouter extends Remote {
        /**
         * Makes a text loud.
         *
         * @param text any
         * @return in capitals
         * @throws RemoteException if the network fails
         */
        String shout(String text) throws RemoteException;
    }

    private static final class LocalShouter implements Shouter {
        @Override
        public String shout(String text) {
            return text.toUpperCase();
        }
    }

    private void seeRmi() throws Exception {
        System.setProperty("java.rmi.server.hostname", address.getHostAddress());
        int port = FreePorts.next(address);
        Registry own = LocateRegistry.createRegistry(port);
        LocalShouter shouter = new LocalShouter();
        own.rebind("shouter", UnicastRemoteObject.exportObject(shouter, 0));
        List<Long> before = connections();
        Shouter remote = (Shouter) LocateRegistry.getRegistry(address.getHostAddress(), port).lookup("shouter");
        String answer = remote.shout("hello");
        List<Long> after = connections();
        System.out.println("saw rmi: " + answer + " over " + IntStream.range(0, TRANSPORTS.size())
                .filter(i -> after.get(i) > before.get(i)).mapToObj(i -> TRANSPORTS.get(i).name())
                .collect(Collectors.joining(", ")));
        UnicastRemoteObject.unexportObject(shouter, true);
        UnicastRemoteObject.unexportObject(own, true);
    }

    private static List<Long> connections() {
        return TRANSPORTS.stream().map(each -> TransportCounters.of(each).connected()).toList();
    }

    /** A logger that opens a socket for each line; without care each of those sockets would log a line, and so on. */
    private void seeLogger() throws Exception {
        BlockingQueue<String> logged = new LinkedBlockingQueue<>();
        Thread.startVirtualThread(() -> collect(logged));
        PrintStream before = System.err;
        System.setErr(new PrintStream(new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                write(new byte[] {(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                try (Socket socket = new Socket(address, early.getLocalPort())) {
                    socket.getOutputStream().write(bytes, offset, length);
                }
            }
        }, true, StandardCharsets.UTF_8));
        try (ServerSocket server = new ServerSocket(0, 5, address);
                Socket client = new Socket(address, server.getLocalPort())) {
            String line = logged.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            while (line != null && !line.contains("->" + client.getRemoteSocketAddress() + "]")) {
                line = logged.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            }
            System.out.println("saw logger: "
                    + String.valueOf(line).replaceFirst("^.*\\] (connected over \\w+).*", "$1"));
        } finally {
            System.setErr(before);
        }
    }

    private void collect(BlockingQueue<String> logged) {
        while (!early.isClosed()) {
            try (Socket socket = early.accept()) {
                logged.add(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip());
            } catch (IOException e) {
                logged.add(e.toString());
            }
        }
    }

    private static String transport(Socket socket) throws IOException {
        return socket.getOption(RdmaSocketOptions.TRANSPORT).name();
    }
}
