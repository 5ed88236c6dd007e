package org.rdmasockets.guard;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/** Counts events and wake-ups. */
final class CountedEvents implements EventPoller {
    private final EventPoller target;
    private final CountedVerbs verbs;
    /** The target's sources, with the ones that our user knows. */
    private final Map<EventSource, EventSource> sources = new ConcurrentHashMap<>();
    private final Consumer<EventSource> tell = this::tell;
    /** The consumer of ready sources now; only the one thread that waits uses it. */
    private Consumer<? super EventSource> listener;

    /**
     * A poller.
     *
     * @param target does the work
     * @param verbs knows the sources
     */
    CountedEvents(EventPoller target, CountedVerbs verbs) {
        this.target = target;
        this.verbs = verbs;
    }

    @Override
    public void add(EventSource source) {
        EventSource plain = (EventSource) verbs.unwrap(source);
        sources.put(plain, source);
        target.add(plain);
    }

    @Override
    public void remove(EventSource source) {
        target.remove((EventSource) verbs.unwrap(source));
    }

    @Override
    public int await(int timeoutMillis, Consumer<? super EventSource> ready) throws VerbsException {
        listener = ready;
        return target.await(timeoutMillis, tell);
    }

    private void tell(EventSource plain) {
        verbs.counts().add(Counts.What.EVENT, 1);
        listener.accept(sources.get(plain));
    }

    @Override
    public void wakeup() {
        verbs.counts().add(Counts.What.EVENT, 1);
        target.wakeup();
    }

    @Override
    public void close() {
        target.close();
    }
}
