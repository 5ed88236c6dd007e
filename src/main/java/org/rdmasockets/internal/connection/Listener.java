package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.net.SocketOption;

/** Puts connections into an {@link AcceptQueue} as they come, accepted or not. Any thread may call anything. */
public interface Listener extends AutoCloseable {
    /** The transport's name as settings spell it: such as {@code tcp}. */
    String transport();

    /** Begins to listen, once; earlier connects are refused. Throws {@code BindException} if the port is taken. */
    void start() throws IOException;

    /** The address listened on: as it was asked for, with the port in use. */
    InetSocketAddress localAddress();

    /** Sets an option of {@code java.net}, to a value in its range, where the carrier has such. */
    default <T> void setOption(SocketOption<T> name, T value) throws SocketException {}

    /** Stops listening. The port is free when this returns, which takes a moment. */
    @Override
    void close();
}
