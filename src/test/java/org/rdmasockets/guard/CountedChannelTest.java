package org.rdmasockets.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/** The counting itself: an event that goes astray there looks like one that the library has lost. */
class CountedChannelTest {
    private final List<String> told = new ArrayList<>();

    /** Between the first one's call and its event, another thread drains; here one thread plays both. */
    @Test
    void eachOfTwoWhoDrainIsToldWhatItTook() throws VerbsException {
        VerbsProvider provider = new SharedMemoryProvider();
        try (Device device = provider.open(provider.devices().getFirst().name());
                CompletionQueue queue = device.createCompletionQueue(16, null)) {
            Overtaken target = new Overtaken(device, queue);
            CountedChannel channel = new CountedChannel(target, new CountedVerbs(provider, new Counts()));
            Consumer<CompletionQueue> first = q -> told.add("first");
            Consumer<CompletionQueue> second = q -> told.add("second");
            target.meanwhile = () -> channel.drainEvents(second);
            channel.drainEvents(first);
            assertEquals(List.of("second", "first"), told);
        }
    }

    /** A drain that happens during another. */
    private interface Draining {
        void run() throws VerbsException;
    }

    /** A channel with an event for each call; something happens before the first. */
    private static final class Overtaken implements CompletionChannel {
        private final Device device;
        private final CompletionQueue queue;
        private Draining meanwhile;

        Overtaken(Device device, CompletionQueue queue) {
            this.device = device;
            this.queue = queue;
        }

        @Override
        public Device device() {
            return device;
        }

        @Override
        public int drainEvents(Consumer<? super CompletionQueue> handler) throws VerbsException {
            Draining once = meanwhile;
            meanwhile = null;
            if (once != null) {
                once.run();
            }
            handler.accept(queue);
            return 1;
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }
}
