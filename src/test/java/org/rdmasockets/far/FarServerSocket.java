package org.rdmasockets.far;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.util.Set;

/** A server socket of the other JVM, and so are those that it accepts; without {@code getChannel}. */
public final class FarServerSocket extends ServerSocket {
    private final Far<ServerSocket> far;

    /**
     * Makes the server socket usable here.
     *
     * @param far where it is
     * @throws IOException never; the superclass declares it
     */
    public FarServerSocket(Far<ServerSocket> far) throws IOException {
        this.far = far;
    }

    @Override
    public void bind(SocketAddress address) throws IOException {
        far.tell(socket -> socket.bind(address));
    }

    @Override
    public void bind(SocketAddress address, int backlog) throws IOException {
        far.tell(socket -> socket.bind(address, backlog));
    }

    @Override
    public InetAddress getInetAddress() {
        return far.ask(socket -> socket.getInetAddress());
    }

    @Override
    public int getLocalPort() {
        return far.ask(socket -> socket.getLocalPort());
    }

    @Override
    public SocketAddress getLocalSocketAddress() {
        return far.ask(socket -> socket.getLocalSocketAddress());
    }

    @Override
    public Socket accept() throws IOException {
        return new FarSocket(far.make(socket -> socket.accept()));
    }

    @Override
    public void close() throws IOException {
        far.tell(socket -> socket.close());
    }

    @Override
    public boolean isBound() {
        return far.ask(socket -> socket.isBound());
    }

    @Override
    public boolean isClosed() {
        return far.ask(socket -> socket.isClosed());
    }

    @Override
    public void setSoTimeout(int timeoutMillis) throws SocketException {
        far.tell(socket -> socket.setSoTimeout(timeoutMillis));
    }

    @Override
    public int getSoTimeout() throws IOException {
        return far.ask(socket -> socket.getSoTimeout());
    }

    @Override
    public void setReuseAddress(boolean on) throws SocketException {
        far.tell(socket -> socket.setReuseAddress(on));
    }

    @Override
    public boolean getReuseAddress() throws SocketException {
        return far.ask(socket -> socket.getReuseAddress());
    }

    @Override
    public void setReceiveBufferSize(int size) throws SocketException {
        far.tell(socket -> socket.setReceiveBufferSize(size));
    }

    @Override
    public int getReceiveBufferSize() throws SocketException {
        return far.ask(socket -> socket.getReceiveBufferSize());
    }

    @Override
    public String toString() {
        return far.ask(socket -> socket.toString());
    }

    @Override
    public void setPerformancePreferences(int time, int latency, int bandwidth) {
        far.tell(socket -> socket.setPerformancePreferences(time, latency, bandwidth));
    }

    @Override
    public <T> ServerSocket setOption(SocketOption<T> name, T value) throws IOException {
        far.tell(socket -> socket.setOption(name, value));
        return this;
    }

    @Override
    public <T> T getOption(SocketOption<T> name) throws IOException {
        return far.ask(socket -> socket.getOption(name));
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return far.ask(socket -> socket.supportedOptions());
    }
}
