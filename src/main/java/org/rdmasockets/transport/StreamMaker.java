package org.rdmasockets.transport;

import java.io.IOException;
import org.rdmasockets.completion.Side;
import org.rdmasockets.stream.ConnectData;
import org.rdmasockets.verbs.ConnectionIdentifier;

/**
 * Makes connections that carry a byte stream. The end that accepts agrees to what the other proposes: the sizes, and
 * so the memory, are its own.
 *
 * @param options their sizes
 */
public record StreamMaker(StreamOptions options) implements VerbsConnection.Maker<StreamTransport> {
    @Override
    public int trafficClass() {
        return options.trafficClass();
    }

    @Override
    public void check(byte[] privateData) throws IOException {
        ConnectData.decode(privateData);
    }

    @Override
    public StreamTransport make(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events, Side side,
            byte[] asked) throws IOException {
        StreamOptions agreed = side == Side.ACTIVE ? options : options.withFlow(ConnectData.decode(asked).flow());
        return StreamTransport.prepare(engine, identifier, events, agreed, side);
    }
}
