package org.rdmasockets.transport;

import java.io.IOException;
import org.rdmasockets.completion.Side;
import org.rdmasockets.stream.ConnectData;
import org.rdmasockets.verbs.ConnectionIdentifier;

/**
 * Makes connections that carry a byte stream.
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
    public StreamTransport make(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events, Side side)
            throws IOException {
        return StreamTransport.prepare(engine, identifier, events, options, side);
    }
}
