package org.rdmasockets;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.URI;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A JVM with a SOCKS proxy, which answers in the place of the host that it is asked for. Prints an outcome a line:
 * first of java.net's own sockets, then of ours, at last of java.net's with ours installed.
 */
final class ProxyMain {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final InetSocketAddress UNRESOLVED = InetSocketAddress.createUnresolved("known.to.proxy.invalid", 7);
    private static final AtomicInteger ASKED = new AtomicInteger();

    private ProxyMain() {
    }

    /** Makes sockets. */
    private interface Maker {
        Socket make() throws IOException;
    }

    /** Runs all trials. */
    public static void main(String[] arguments) throws IOException {
        ServerSocket proxy = new ServerSocket(0, 50, LOOPBACK);
        Thread.ofPlatform().daemon().start(() -> serveAll(proxy));
        ServerSocket plain = new ServerSocket(0, 50, LOOPBACK);
        tellAll("java.net", Socket::new, plain, proxy.getLocalPort());
        tell("java.net without", () -> new Socket(Proxy.NO_PROXY), plain.getLocalSocketAddress());
        RdmaServerSocket ours = new RdmaServerSocket(0, 50, LOOPBACK);
        tellAll("ours", RdmaSocket::new, ours, proxy.getLocalPort());
        Maker forced = () -> new RdmaSocket().setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY);
        tell("forced", forced, ours.getLocalSocketAddress());
        tell("forced unresolved", forced, UNRESOLVED);
        RdmaSockets.install();
        tellAll("installed", Socket::new, ours, proxy.getLocalPort());
        tell("installed without", () -> new Socket(Proxy.NO_PROXY), ours.getLocalSocketAddress());
        System.exit(0);
    }

    private static void tellAll(String family, Maker maker, ServerSocket server, int proxyPort) {
        System.clearProperty("socksProxyHost");
        tell(family + " no proxy unresolved", maker, UNRESOLVED);
        System.setProperty("socksProxyHost", LOOPBACK.getHostAddress());
        System.setProperty("socksProxyPort", Integer.toString(proxyPort));
        tell(family + " loopback", maker, server.getLocalSocketAddress());
        System.setProperty("socksNonProxyHosts", "");
        tell(family + " proxied", maker, server.getLocalSocketAddress());
        tell(family + " unresolved", maker, UNRESOLVED);
        tell(family + " six", maker, new InetSocketAddress(InetAddress.ofLiteral("2001:db8::1"), 7));
        ProxySelector before = ProxySelector.getDefault();
        ProxySelector.setDefault(new Selector(proxyPort));
        tell(family + " selected", maker, server.getLocalSocketAddress());
        ProxySelector.setDefault(new Selector(0));
        tell(family + " failing selector", maker, server.getLocalSocketAddress());
        ProxySelector.setDefault(null);
        tell(family + " no selector", maker, server.getLocalSocketAddress());
        ProxySelector.setDefault(before);
        System.clearProperty("socksNonProxyHosts");
    }

    /** Names a proxy for every address, or fails. */
    private static final class Selector extends ProxySelector {
        private final int port;

        Selector(int port) {
            this.port = port;
        }

        @Override
        public List<Proxy> select(URI uri) {
            if (port == 0) {
                throw new IllegalArgumentException("no");
            }
            return List.of(new Proxy(Proxy.Type.SOCKS, new InetSocketAddress(LOOPBACK, port)));
        }

        @Override
        public void connectFailed(URI uri, SocketAddress address, IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void tell(String what, Maker maker, SocketAddress destination) {
        int before = ASKED.get();
        String outcome;
        try (Socket socket = maker.make()) {
            outcome = outcome(socket, destination);
        } catch (IOException e) {
            outcome = e.toString();
        }
        System.out.println(what + ": " + outcome + ", proxy asked " + (ASKED.get() - before));
    }

    private static String outcome(Socket socket, SocketAddress destination) {
        try {
            socket.connect(destination, 30_000);
            boolean same = destination.equals(socket.getRemoteSocketAddress());
            return "connected, to what was asked for: " + same + ", " + (socket.getInetAddress() == null);
        } catch (Exception e) {
            return e + " because of " + e.getCause() + ", closed=" + socket.isClosed();
        }
    }

    private static void serveAll(ServerSocket proxy) {
        while (true) {
            try (Socket client = proxy.accept()) {
                serve(client);
            } catch (IOException e) {
                System.out.println(e);
            }
        }
    }

    /** SOCKS 5 without a password (RFC 1928): says that it is connected. */
    private static void serve(Socket client) throws IOException {
        DataInputStream in = new DataInputStream(client.getInputStream());
        in.readByte();
        in.skipNBytes(in.readUnsignedByte());
        client.getOutputStream().write(new byte[] {5, 0});
        in.skipNBytes(3);
        in.skipNBytes(switch (in.readByte()) {
            case 1 -> 4;
            case 3 -> in.readUnsignedByte();
            default -> 16;
        } + 2);
        ASKED.incrementAndGet();
        client.getOutputStream().write(new byte[] {5, 0, 0, 1, 0, 0, 0, 0, 0, 0});
    }
}
