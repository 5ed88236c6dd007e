package org.rdmasockets.contract;

import org.rdmasockets.far.Holder;
import org.rdmasockets.verbs.ConnectionEvent.Established;
import org.rdmasockets.verbs.VerbsException;

/** Two connected ends, the one that connected and the one that accepted, which may be in another JVM. */
final class Duo implements AutoCloseable {
    final End active;
    final Holder<End> passive;
    final Established answer;

    Duo(EventLoop loop, Holder<Acceptor> acceptor) throws VerbsException {
        ConnectionEvents events = new ConnectionEvents();
        active = new End(Pair.resolve(loop, acceptor.ask(a -> a.address()), events), events);
        active.identifier.connect(Pair.PARAMETERS);
        passive = acceptor.make(a -> a.accept());
        answer = events.await(Established.class);
    }

    @Override
    public void close() {
        active.close();
        passive.tell(end -> end.close());
    }
}
