package org.rdmasockets.internal.sharedmemory.link;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;

/** The conditions that the socket of a link is watched for. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class LinkWatchTest {
    private static final int ROUNDS = 3_000;

    /** A socket has room always: a waiter that is told of that again and again never sleeps. */
    @Test
    void aLinkIsNotWatchedForRoomForEver() throws Exception {
        BlockingQueue<Recorder> links = new LinkedBlockingQueue<>();
        try (Node node = new Node();
                LinkHub hub = LinkTest.drainedByHand(links);
                LinkHub.HubWaiter waiter = hub.newWaiter();
                LinkListener listener = Node.listen(hub, InetAddress.getLoopbackAddress())) {
            CompletableFuture<Link> dial = node.outcome(listener.address());
            Await.until("a link", () -> LinkTest.drain(waiter) && dial.isDone() && !links.isEmpty());
            Link link = links.element().link;
            AtomicInteger asked = new AtomicInteger();
            AtomicInteger round = new AtomicInteger();
            FutureTask<Boolean> asking = new FutureTask<>(() -> {
                for (int i = 1; i <= ROUNDS; i++) {
                    while (round.get() < i) {
                        Thread.onSpinWait();
                    }
                    link.watchForRoom();
                    asked.set(i);
                }
                return true;
            });
            Thread.ofPlatform().daemon().start(asking);
            try {
                for (int i = 1; i <= ROUNDS; i++) {
                    link.watchForRoom();
                    assertTrue(waiter.await(0), "there is room");
                    round.set(i);
                    waiter.drain();
                    while (asked.get() < i && !asking.isDone()) {
                        Thread.onSpinWait();
                    }
                    int found = 0;
                    while (waiter.await(0)) {
                        waiter.drain();
                        assertTrue(++found < 10, "there is room again and again");
                    }
                }
            } finally {
                round.set(ROUNDS);
            }
            assertTrue(asking.get(Node.LIMIT_SECONDS, TimeUnit.SECONDS));
            link.close();
            dial.get().close();
        }
    }
}
