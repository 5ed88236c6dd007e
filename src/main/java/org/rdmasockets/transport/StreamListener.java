package org.rdmasockets.transport;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketOption;
import org.rdmasockets.completion.Side;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;

/** Accepts byte streams over RDMA. */
public final class StreamListener implements Listener {
    private final String transport;
    private final VerbsListener<StreamTransport> listener;
    private volatile StreamOptions options;

    /**
     * Begins to listen, and uses a binding up.
     *
     * @param binding address and port
     * @param backlog most connections that wait to be accepted; below 1 means 50
     * @param options sizes of the connections to come
     * @param accepted gets the connections
     * @throws IOException as {@link Binding#listen}
     */
    public StreamListener(Binding binding, int backlog, StreamOptions options, AcceptQueue<Connection> accepted)
            throws IOException {
        this.options = options;
        transport = binding.transport();
        listener = binding.listen(backlog, new Latest(), accepted);
    }

    /** Makes each connection with the options of its time. */
    private final class Latest implements VerbsConnection.Maker<StreamTransport> {
        @Override
        public void check(byte[] privateData) throws IOException {
            new StreamMaker(options).check(privateData);
        }

        @Override
        public StreamTransport make(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events, Side side,
                ConnectionParameters asked) throws IOException {
            return new StreamMaker(options).make(engine, identifier, events, side, asked);
        }
    }

    @Override
    public String transport() {
        return transport;
    }

    @Override
    public InetSocketAddress localAddress() {
        return listener.localAddress();
    }

    @Override
    public void options(StreamOptions newOptions) {
        options = newOptions;
    }

    /** Nothing that a carrier of RDMA would know. */
    @Override
    public <T> void setOption(SocketOption<T> name, T value) {
    }

    @Override
    public void close() {
        listener.close();
    }
}
