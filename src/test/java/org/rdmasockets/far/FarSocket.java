package org.rdmasockets.far;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.util.Set;

/** A socket of the other JVM: everything is forwarded, but {@code getChannel}, since it has none. */
public final class FarSocket extends Socket {
    private final Far<Socket> far;

    /**
     * Makes the socket usable here.
     *
     * @param far where it is
     */
    public FarSocket(Far<Socket> far) {
        this.far = far;
    }

    @Override
    public void connect(SocketAddress endpoint) throws IOException {
        far.tell(socket -> socket.connect(endpoint));
    }

    @Override
    public void connect(SocketAddress endpoint, int timeoutMillis) throws IOException {
        far.tell(socket -> socket.connect(endpoint, timeoutMillis));
    }

    @Override
    public void bind(SocketAddress address) throws IOException {
        far.tell(socket -> socket.bind(address));
    }

    @Override
    public InetAddress getInetAddress() {
        return far.ask(socket -> socket.getInetAddress());
    }

    @Override
    public InetAddress getLocalAddress() {
        return far.ask(socket -> socket.getLocalAddress());
    }

    @Override
    public int getPort() {
        return far.ask(socket -> socket.getPort());
    }

    @Override
    public int getLocalPort() {
        return far.ask(socket -> socket.getLocalPort());
    }

    @Override
    public SocketAddress getRemoteSocketAddress() {
        return far.ask(socket -> socket.getRemoteSocketAddress());
    }

    @Override
    public SocketAddress getLocalSocketAddress() {
        return far.ask(socket -> socket.getLocalSocketAddress());
    }

    @Override
    public InputStream getInputStream() throws IOException {
        return new FarInputStream(far.make(socket -> socket.getInputStream()));
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
        return new FarOutputStream(far.make(socket -> socket.getOutputStream()));
    }

    @Override
    public void setTcpNoDelay(boolean on) throws SocketException {
        far.tell(socket -> socket.setTcpNoDelay(on));
    }

    @Override
    public boolean getTcpNoDelay() throws SocketException {
        return far.ask(socket -> socket.getTcpNoDelay());
    }

    @Override
    public void setSoLinger(boolean on, int seconds) throws SocketException {
        far.tell(socket -> socket.setSoLinger(on, seconds));
    }

    @Override
    public int getSoLinger() throws SocketException {
        return far.ask(socket -> socket.getSoLinger());
    }

    @Override
    public void sendUrgentData(int data) throws IOException {
        far.tell(socket -> socket.sendUrgentData(data));
    }

    @Override
    public void setOOBInline(boolean on) throws SocketException {
        far.tell(socket -> socket.setOOBInline(on));
    }

    @Override
    public boolean getOOBInline() throws SocketException {
        return far.ask(socket -> socket.getOOBInline());
    }

    @Override
    public void setSoTimeout(int timeoutMillis) throws SocketException {
        far.tell(socket -> socket.setSoTimeout(timeoutMillis));
    }

    @Override
    public int getSoTimeout() throws SocketException {
        return far.ask(socket -> socket.getSoTimeout());
    }

    @Override
    public void setSendBufferSize(int size) throws SocketException {
        far.tell(socket -> socket.setSendBufferSize(size));
    }

    @Override
    public int getSendBufferSize() throws SocketException {
        return far.ask(socket -> socket.getSendBufferSize());
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
    public void setKeepAlive(boolean on) throws SocketException {
        far.tell(socket -> socket.setKeepAlive(on));
    }

    @Override
    public boolean getKeepAlive() throws SocketException {
        return far.ask(socket -> socket.getKeepAlive());
    }

    @Override
    public void setTrafficClass(int value) throws SocketException {
        far.tell(socket -> socket.setTrafficClass(value));
    }

    @Override
    public int getTrafficClass() throws SocketException {
        return far.ask(socket -> socket.getTrafficClass());
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
    public void close() throws IOException {
        far.tell(socket -> socket.close());
    }

    @Override
    public void shutdownInput() throws IOException {
        far.tell(socket -> socket.shutdownInput());
    }

    @Override
    public void shutdownOutput() throws IOException {
        far.tell(socket -> socket.shutdownOutput());
    }

    @Override
    public String toString() {
        return far.ask(socket -> socket.toString());
    }

    @Override
    public boolean isConnected() {
        return far.ask(socket -> socket.isConnected());
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
    public boolean isInputShutdown() {
        return far.ask(socket -> socket.isInputShutdown());
    }

    @Override
    public boolean isOutputShutdown() {
        return far.ask(socket -> socket.isOutputShutdown());
    }

    @Override
    public void setPerformancePreferences(int time, int latency, int bandwidth) {
        far.tell(socket -> socket.setPerformancePreferences(time, latency, bandwidth));
    }

    @Override
    public <T> Socket setOption(SocketOption<T> name, T value) throws IOException {
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
