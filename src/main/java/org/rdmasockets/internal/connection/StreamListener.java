package org.rdmasockets.internal.connection;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketOption;

/** Accepts byte streams over RDMA. */
public final class StreamListener implements Listener {
    /** Holds the port until this listens. */
    private final Binding binding;
    private final int backlog;
    private final AcceptQueue<Connection> accepted;
    private volatile StreamOptions options;
    /** Null until this listens. */
    private volatile VerbsListener<StreamTransport> listener;

    /** Will listen, and takes a binding over; a backlog below 1 means 50. */
    public StreamListener(Binding binding, int backlog, StreamOptions options, AcceptQueue<Connection> accepted) {
        this.binding = binding;
        this.backlog = backlog;
        this.options = options;
        this.accepted = accepted;
    }

    @Override
    public void start() throws IOException {
        listener = binding.listen(backlog, options, accepted);
    }

    @Override
    public String transport() {
        return binding.transport();
    }

    @Override
    public InetSocketAddress localAddress() {
        return binding.localAddress();
    }

    @Override
    public void options(StreamOptions newOptions) {
        options = newOptions;
        if (listener != null) {
            listener.maker(newOptions);
        }
    }

    /** Nothing that a carrier of RDMA would know. */
    @Override
    public <T> void setOption(SocketOption<T> name, T value) {}

    @Override
    public void close() {
        binding.close();
        if (listener != null) {
            listener.close();
        }
    }
}
