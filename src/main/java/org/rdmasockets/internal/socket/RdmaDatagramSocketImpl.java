package org.rdmasockets.internal.socket;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.DatagramSocketImpl;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.Set;
import org.rdmasockets.RdmaDatagramSocket;

/**
 * The inside of a datagram socket of {@code java.net}: another socket does the work, an {@link RdmaDatagramSocket}
 * under a plain socket, and one of UDP under that. Threads as there.
 */
public final class RdmaDatagramSocketImpl extends DatagramSocketImpl {
    /** Null until this is created. */
    private volatile DatagramSocket socket;

    /** For {@link #create}, which may throw what a factory may not; null if there is a socket. */
    private final Maker maker;

    /** Makes a socket, unbound. */
    public interface Maker {
        /** Makes one. */
        DatagramSocket make() throws SocketException;
    }

    /** The socket that does the work is made when this is created. */
    public RdmaDatagramSocketImpl(Maker maker) {
        this.maker = maker;
    }

    /** For a socket, unbound and this one's from now on. */
    public RdmaDatagramSocketImpl(DatagramSocket socket) {
        this.socket = socket;
        maker = null;
    }

    /** The socket that does the work; null before it is created. */
    public DatagramSocket socket() {
        return socket;
    }

    @Override
    protected void create() throws SocketException {
        if (socket == null) {
            socket = maker.make();
        }
    }

    /** Nothing happens if the socket that does the work is bound. */
    @Override
    protected void bind(int port, InetAddress address) throws SocketException {
        if (!socket.isBound()) {
            socket.bind(new InetSocketAddress(address, port));
        }
    }

    @Override
    protected int getLocalPort() {
        return socket.getLocalPort();
    }

    @Override
    protected void connect(InetAddress address, int port) throws SocketException {
        socket.connect(new InetSocketAddress(address, port));
    }

    @Override
    protected void disconnect() {
        socket.disconnect();
    }

    @Override
    protected void send(DatagramPacket packet) throws IOException {
        socket.send(packet);
    }

    @Override
    protected void receive(DatagramPacket packet) throws IOException {
        socket.receive(packet);
    }

    @Override
    protected int peek(InetAddress address) throws IOException {
        throw new SocketException("the sender cannot be looked at before its datagram is received");
    }

    /** Called only for implementations that say that something is available. */
    @Override
    protected int peekData(DatagramPacket packet) throws IOException {
        throw new SocketException("a datagram cannot be looked at before it is received");
    }

    @Override
    @Deprecated
    @SuppressWarnings("removal") // it is abstract as long as it is there
    protected void setTTL(byte hops) throws IOException {
        setTimeToLive(Byte.toUnsignedInt(hops));
    }

    @Override
    @Deprecated
    @SuppressWarnings("removal")
    protected byte getTTL() throws IOException {
        return (byte) getTimeToLive();
    }

    @Override
    protected void setTimeToLive(int hops) throws IOException {
        socket.setOption(StandardSocketOptions.IP_MULTICAST_TTL, hops);
    }

    @Override
    protected int getTimeToLive() throws IOException {
        return socket.getOption(StandardSocketOptions.IP_MULTICAST_TTL);
    }

    @Override
    protected void join(InetAddress group) throws IOException {
        joinGroup(new InetSocketAddress(group, 0), null);
    }

    @Override
    protected void leave(InetAddress group) throws IOException {
        leaveGroup(new InetSocketAddress(group, 0), null);
    }

    @Override
    protected void joinGroup(SocketAddress group, NetworkInterface through) throws IOException {
        socket.joinGroup(group, through);
    }

    @Override
    protected void leaveGroup(SocketAddress group, NetworkInterface through) throws IOException {
        socket.leaveGroup(group, through);
    }

    @Override
    protected void close() {
        DatagramSocket open = socket;
        if (open != null) {
            open.close();
        }
    }

    @Override
    protected <T> void setOption(SocketOption<T> name, T value) throws IOException {
        socket.setOption(name, value);
    }

    @Override
    protected <T> T getOption(SocketOption<T> name) throws IOException {
        return socket.getOption(name);
    }

    @Override
    protected Set<SocketOption<?>> supportedOptions() {
        return socket.supportedOptions();
    }

    /** Called for options that the methods of sockets set; the values have the options' types. */
    @Override
    public void setOption(int number, Object value) throws SocketException {
        try {
            switch (number) {
                case SO_TIMEOUT -> socket.setSoTimeout((Integer) value);
                case SO_SNDBUF -> setOption(StandardSocketOptions.SO_SNDBUF, (Integer) value);
                case SO_RCVBUF -> setOption(StandardSocketOptions.SO_RCVBUF, (Integer) value);
                case SO_REUSEADDR -> setOption(StandardSocketOptions.SO_REUSEADDR, (Boolean) value);
                case SO_BROADCAST -> setOption(StandardSocketOptions.SO_BROADCAST, (Boolean) value);
                case IP_TOS -> setOption(StandardSocketOptions.IP_TOS, (Integer) value);
                case IP_MULTICAST_IF -> setOption(StandardSocketOptions.IP_MULTICAST_IF, holder((InetAddress) value));
                case IP_MULTICAST_IF2 -> setOption(StandardSocketOptions.IP_MULTICAST_IF, (NetworkInterface) value);
                case IP_MULTICAST_LOOP -> setOption(StandardSocketOptions.IP_MULTICAST_LOOP, !(Boolean) value);
                default -> throw new SocketException("no option of datagram sockets: " + number);
            }
        } catch (SocketException e) {
            throw e;
        } catch (IOException e) {
            throw (SocketException) new SocketException(e.getMessage()).initCause(e);
        }
    }

    private static NetworkInterface holder(InetAddress address) throws SocketException {
        NetworkInterface found = NetworkInterface.getByInetAddress(address);
        if (found == null) {
            throw new SocketException("no network interface has the address " + address.getHostAddress());
        }
        return found;
    }

    @Override
    public Object getOption(int number) throws SocketException {
        try {
            return switch (number) {
                case SO_TIMEOUT -> socket.getSoTimeout();
                case SO_BINDADDR -> socket.getLocalAddress();
                case SO_SNDBUF -> getOption(StandardSocketOptions.SO_SNDBUF);
                case SO_RCVBUF -> getOption(StandardSocketOptions.SO_RCVBUF);
                case SO_REUSEADDR -> getOption(StandardSocketOptions.SO_REUSEADDR);
                case SO_BROADCAST -> getOption(StandardSocketOptions.SO_BROADCAST);
                case IP_TOS -> getOption(StandardSocketOptions.IP_TOS);
                case IP_MULTICAST_IF -> addressOf(getOption(StandardSocketOptions.IP_MULTICAST_IF));
                case IP_MULTICAST_IF2 -> getOption(StandardSocketOptions.IP_MULTICAST_IF);
                case IP_MULTICAST_LOOP -> !getOption(StandardSocketOptions.IP_MULTICAST_LOOP);
                default -> throw new SocketException("no option of datagram sockets: " + number);
            };
        } catch (SocketException e) {
            throw e;
        } catch (IOException e) {
            throw (SocketException) new SocketException(e.getMessage()).initCause(e);
        }
    }

    private static InetAddress addressOf(NetworkInterface through) {
        InetAddress any = new InetSocketAddress(0).getAddress();
        return through == null ? any : through.inetAddresses().findFirst().orElse(any);
    }
}
