package org.rdmasockets.guard;

import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.VerbsException;

/** Names counted queues in its events; allocates nothing for that. */
final class CountedChannel implements CompletionChannel {
    private final CompletionChannel target;
    private final CountedVerbs verbs;
    private final Consumer<CompletionQueue> tell = this::tell;
    /** Who is told of events; the poller thread's. */
    private Consumer<? super CompletionQueue> listener;

    /**
     * A channel.
     *
     * @param target does the work
     * @param verbs knows the queues
     */
    CountedChannel(CompletionChannel target, CountedVerbs verbs) {
        this.target = target;
        this.verbs = verbs;
    }

    /** The channel that does the work. */
    CompletionChannel target() {
        return target;
    }

    @Override
    public Device device() {
        return (Device) verbs.wrap(target.device());
    }

    @Override
    public int drainEvents(Consumer<? super CompletionQueue> handler) throws VerbsException {
        listener = handler;
        return target.drainEvents(tell);
    }

    private void tell(CompletionQueue plain) {
        listener.accept(verbs.queue(plain));
    }

    @Override
    public void onPost(Predicate<? super CompletionQueue> handler) {
        target.onPost(plain -> handler.test(verbs.queue(plain)));
    }

    @Override
    public void close() {
        target.close();
    }
}
