package org.rdmasockets.provider.sharedmemory.link;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;

/** What the socket of a link is watched for. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
class LinkWatchTest {
    /** A socket has room always: who is told of that again and again never sleeps. */
    @Test
    void aLinkIsNotWatchedForRoomForEver() throws Exception {
        BlockingQueue<Recorder> links = new LinkedBlockingQueue<>();
        try (Node node = new Node();
                LinkHub hub = LinkTest.drainedByHand(links);
                HubWaiter waiter = hub.newWaiter();
                LinkListener listener = hub.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
            CompletableFuture<Link> dial = node.outcome(listener.address());
            Await.until("a link", () -> LinkTest.drain(waiter) && dial.isDone() && !links.isEmpty());
            Link link = links.element().link;
            Thread asking = Thread.ofPlatform().start(() -> {
                for (int i = 0; i < 5_000; i++) {
                    link.watchForRoom();
                }
            });
            while (asking.isAlive()) {
                LinkTest.drain(waiter);
            }
            int found = 0;
            while (waiter.await(1)) {
                waiter.drain();
                assertTrue(++found < 10, "there is room again and again");
            }
            link.close();
            dial.get().close();
        }
    }
}
