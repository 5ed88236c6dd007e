package org.rdmasockets.transport;

import java.io.IOException;
import org.rdmasockets.completion.Side;
import org.rdmasockets.stream.ConnectData;
import org.rdmasockets.stream.FlowKind;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;

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
    public StreamTransport make(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events, Side side,
            ConnectionParameters asked) throws IOException {
        StreamOptions agreed = asked == null ? options : options.withFlow(agree(asked));
        return new StreamTransport(engine, identifier, events, agreed, side);
    }

    /** What is proposed, if this end would propose it, too; so nobody else decides how much memory it takes. */
    private FlowKind agree(ConnectionParameters asked) throws IOException {
        FlowKind proposed = ConnectData.decode(asked.privateData()).flow();
        boolean possible = proposed != FlowKind.READ_RING
                || asked.responderResources() > 0 && asked.initiatorDepth() > 0;
        return proposed == options.flow() && possible ? proposed : FlowKind.CREDIT_RING;
    }
}
