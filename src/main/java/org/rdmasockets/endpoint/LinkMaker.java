package org.rdmasockets.endpoint;

import java.io.IOException;
import org.rdmasockets.completion.Side;
import org.rdmasockets.transport.ConnectionEvents;
import org.rdmasockets.transport.Engine;
import org.rdmasockets.transport.VerbsConnection;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;

/**
 * Makes the connections of endpoints.
 *
 * @param settings of each
 * @param shared what they have in common; null for one of its own for each
 */
record LinkMaker(Settings settings, Sharing shared) implements VerbsConnection.Maker<Link> {
    @Override
    public void check(byte[] privateData) throws IOException {
        check(settings, Greeting.decode(privateData));
        if (settings.entrance != null) {
            settings.entrance.check(privateData);
        }
    }

    /** Refuses a peer that works otherwise. */
    static void check(Settings settings, Greeting peer) throws IOException {
        if (peer.raw() != settings.raw) {
            throw new EndpointException(EndpointException.Reason.PROTOCOL, "this end is " + mode(settings.raw)
                    + ", the peer " + mode(peer.raw()) + ": both have to be the same");
        }
    }

    private static String mode(boolean raw) {
        return raw ? "raw" : "not raw";
    }

    @Override
    public Link make(Engine engine, ConnectionIdentifier identifier, ConnectionEvents events, Side side,
            ConnectionParameters asked) throws IOException {
        Link.checkPlace(settings, identifier);
        settings.check(identifier.device());
        return Link.make(this, engine, new Link.Place(identifier, events, side));
    }

    /** Set-up pool: the domain of a connection, which releases it. */
    Domain domain(Engine engine, ConnectionIdentifier identifier) throws IOException {
        return shared == null ? Domain.allocate(engine, identifier)
                : shared.retain(engine, identifier.device());
    }
}
