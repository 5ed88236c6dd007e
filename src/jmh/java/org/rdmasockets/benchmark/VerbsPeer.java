package org.rdmasockets.benchmark;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.ConnectionEvent.AddressResolved;
import org.rdmasockets.verbs.ConnectionEvent.ConnectRequest;
import org.rdmasockets.verbs.ConnectionEvent.Established;
import org.rdmasockets.verbs.ConnectionEvent.RouteResolved;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.VerbsException;

/**
 * Typed verbs alone, without sockets: a {@link VerbsLink} at each end, over the provider that
 * {@code -Dorg.rdmasockets.transport} names (shared memory if it is not set). One thread, and one connection at a time.
 */
final class VerbsPeer implements Peer {
    private static final int RESOLVE_MILLIS = 10_000;

    /** Null until this listens or connects. */
    private VerbsEvents events;

    private VerbsEvents events() throws VerbsException {
        if (events == null) {
            events = new VerbsEvents(Providers.named(System.getProperty("org.rdmasockets.transport", "sharedmemory")));
        }
        return events;
    }

    @Override
    public Listener listen() throws IOException {
        VerbsEvents.Mailbox requests = events().new Mailbox();
        ConnectionIdentifier identifier = requests.identifier();
        identifier.bind(new InetSocketAddress(host(), 0));
        identifier.listen(1);
        return new Ear(events, identifier, requests);
    }

    @Override
    public Link connect(String address) throws IOException {
        VerbsEvents.Mailbox mailbox = events().new Mailbox();
        ConnectionIdentifier identifier = mailbox.identifier();
        identifier.resolveAddress(new InetSocketAddress(host(), Integer.parseInt(address)), RESOLVE_MILLIS);
        mailbox.await(AddressResolved.class);
        identifier.resolveRoute(RESOLVE_MILLIS);
        mailbox.await(RouteResolved.class);
        VerbsLink link = new VerbsLink(identifier, mailbox);
        identifier.connect(link.parameters());
        link.reach(mailbox.await(Established.class).parameters());
        return link;
    }

    private static InetAddress host() throws IOException {
        return InetAddress.getByName(System.getProperty("org.rdmasockets.test.address", "127.0.0.1"));
    }

    @Override
    public void close() {
        if (events != null) {
            events.close();
        }
    }

    /** A listening identifier; its address is a port. */
    private record Ear(VerbsEvents events, ConnectionIdentifier identifier, VerbsEvents.Mailbox requests)
            implements Listener {
        @Override
        public String address() {
            return "" + identifier.localAddress().getPort();
        }

        @Override
        public Link accept() throws IOException {
            ConnectRequest request = (ConnectRequest) requests.await();
            VerbsEvents.Mailbox mailbox = events.new Mailbox();
            request.identifier().handler(mailbox);
            VerbsLink link = new VerbsLink(request.identifier(), mailbox);
            link.reach(request.parameters());
            request.identifier().accept(link.parameters());
            mailbox.await(Established.class);
            return link;
        }

        @Override
        public void close() {
            identifier.close();
        }
    }
}
