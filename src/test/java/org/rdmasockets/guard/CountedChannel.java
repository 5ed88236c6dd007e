package org.rdmasockets.guard;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.VerbsException;

/**
 * Names counted queues in its events; allocates nothing for that but when a handler comes for the first time. Several
 * threads drain at once, each with a handler of its own, and none may be told what another took.
 */
final class CountedChannel implements CompletionChannel {
    private final CompletionChannel target;
    private final CountedVerbs verbs;
    /** Handlers that take counted queues, with the ones that the target calls with plain queues. */
    private final Map<Consumer<? super CompletionQueue>, Consumer<CompletionQueue>> handlers =
            new ConcurrentHashMap<>();

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
        Consumer<CompletionQueue> known = handlers.get(handler);
        return target.drainEvents(known != null ? known : handlers.computeIfAbsent(handler,
                listener -> plain -> listener.accept(verbs.queue(plain))));
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
