package org.rdmasockets.internal.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Failures are remembered for a while that their price gives. */
class FailureCacheTest {
    private static final InetSocketAddress PEER = new InetSocketAddress(InetAddress.ofLiteral("192.0.2.1"), 7000);
    private static final InetSocketAddress OTHER_PORT = new InetSocketAddress(PEER.getAddress(), 7001);

    private long now = Long.MAX_VALUE - 5; // the clock may wrap around
    private final FailureCache outcomes = new FailureCache() {
        @Override
        long now() {
            return now;
        }
    };

    private void pass(long millis) {
        now += TimeUnit.MILLISECONDS.toNanos(millis);
    }

    private void failed(boolean refused, long millis) {
        outcomes.failed(new FailureCache.Attempt("ibverbs", PEER, "why", refused,
                TimeUnit.MILLISECONDS.toNanos(millis)));
    }

    private boolean known(InetSocketAddress remote) {
        return outcomes.failure("ibverbs", remote).isPresent();
    }

    @Test
    void nothingIsKnownAtFirst() {
        assertEquals(Optional.empty(), outcomes.failure("ibverbs", PEER));
    }

    @Test
    void aRefusalConcernsItsPortForThirtyTimesItsPrice() {
        failed(true, 10);
        assertTrue(known(PEER));
        assertFalse(known(OTHER_PORT));
        pass(299);
        assertTrue(known(PEER));
        pass(1);
        assertFalse(known(PEER));
    }

    @Test
    void silenceConcernsTheHostForAMinuteAtMost() {
        failed(false, 10_000);
        pass(59_999);
        assertTrue(known(PEER) && known(OTHER_PORT));
        pass(1);
        assertFalse(known(PEER) || known(OTHER_PORT));
    }

    @Test
    void transportsAndHostsAreApart() {
        failed(false, 1_000);
        assertEquals(Optional.empty(), outcomes.failure("sharedmemory", PEER));
        assertFalse(known(new InetSocketAddress(InetAddress.ofLiteral("192.0.2.2"), PEER.getPort())));
    }

    @Test
    void theReasonAndItsAgeAreTold() {
        failed(true, 1_000);
        pass(1_500);
        assertEquals("why (not tried again after 1.5 s)", outcomes.failure("ibverbs", PEER).orElseThrow());
    }

    @Test
    void successIsRememberedInstead() {
        failed(false, 1_000);
        failed(true, 1_000);
        outcomes.succeeded("ibverbs", PEER);
        assertFalse(known(PEER) || known(OTHER_PORT));
    }

    @Test
    void whatIsRememberedIsBounded() {
        failed(true, 1_000);
        for (int i = 0; i < 1_023; i++) {
            outcomes.failed(new FailureCache.Attempt("ibverbs", new InetSocketAddress(PEER.getAddress(), 10_000 + i),
                    "",
                    true, 1_000_000_000));
        }
        assertTrue(known(PEER));
        outcomes.failed(new FailureCache.Attempt("ibverbs", OTHER_PORT, "", true, 1_000_000_000));
        assertFalse(known(PEER), "the oldest goes first");
        assertTrue(known(OTHER_PORT));
    }
}
