package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;

/** Messages that stay with their sender until the receiver takes them. */
abstract class EndpointRendezvousContract extends EndpointContract {
    private static LocalRegion readable(RdmaEndpoint endpoint, int size, long seed) throws IOException {
        return fill(endpoint.allocate(size, 1, READ_WRITE), seed);
    }

    @Test
    void theReceiverReadsThemInTheirOrderAmongOthers() throws Exception {
        Pair pair = connect();
        List<Pending<Void>> sent = new ArrayList<>();
        int[] sizes = {1, 8137, 300, 1_000_003, 70_000};
        for (int i = 0; i < sizes.length; i++) {
            LocalRegion region = readable(pair.client(), sizes[i], i);
            sent.add(i == 2 ? pair.client().startSend(region) : pair.client().startRendezvous(region));
        }
        assertThrows(SocketTimeoutException.class, () -> sent.getFirst().await(Duration.ofMillis(50)));
        for (int i = 0; i < sizes.length; i++) {
            byte[] expected = random(sizes[i], i);
            if (i % 2 == 0) {
                assertArrayEquals(expected, pair.server().receiveArray(MOST, PATIENCE));
            } else {
                try (Message message = pair.server().receive(PATIENCE)) {
                    assertArrayEquals(expected, message.toArray());
                }
            }
            sent.get(i).await(PATIENCE);
        }
    }

    @Test
    void bothEndsSendWhileEachReceives() throws Exception {
        Pair pair = connect();
        List<Call<Void>> calls = new ArrayList<>();
        for (RdmaEndpoint one : List.of(pair.client(), pair.server())) {
            calls.add(run("send", () -> {
                try (LocalRegion region = readable(one, 200_000, 5)) {
                    for (int i = 0; i < 50; i++) {
                        one.startRendezvous(region).await(PATIENCE);
                    }
                }
            }));
            calls.add(run("receive", () -> {
                for (int i = 0; i < 50; i++) {
                    assertArrayEquals(random(200_000, 5), one.receiveArray(MOST, PATIENCE));
                }
            }));
        }
        for (Call<Void> call : calls) {
            call.result();
        }
    }

    @Test
    void pollTakesOneThatHasBeenRead() throws Exception {
        Pair pair = connect();
        pair.client().startRendezvous(readable(pair.client(), 500_000, 1));
        pair.client().startRendezvous(readable(pair.client(), 500_001, 2));
        Await.until("a message", () -> {
            try (Message message = pair.server().poll()) {
                return message != null && message.length() == 500_000;
            }
        });
        byte[][] array = new byte[1][];
        Await.until("an array", () -> {
            array[0] = pair.server().pollArray(MOST);
            return array[0] != null;
        });
        assertArrayEquals(random(500_001, 2), array[0]);
        assertNull(pair.server().pollArray(MOST));
    }

    @Test
    void memoryIsTheSendersUntilThePeerHasTakenIt() throws Exception {
        Pair pair = connect();
        LocalRegion region = readable(pair.client(), 100_000, 3);
        Pending<Void> sent = pair.client().startRendezvous(region);
        assertThrows(RegionBusyException.class, () -> region.put(0, new byte[1], 1));
        region.close(); // goes on in the background
        assertArrayEquals(random(100_000, 3), pair.server().receiveArray(MOST, PATIENCE));
        sent.await(PATIENCE);
        assertTrue(region.block.hasEnded());
    }

    @Test
    void onlyMemoryThatThePeerMayReadIsOffered() throws Exception {
        Pair pair = connect();
        LocalRegion closed = pair.client().allocate(10);
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                () -> pair.client().startRendezvous(closed));
        assertTrue(e.getMessage().contains("REMOTE_READ"), e::getMessage);
        Pair small = connect(builder(), builder().maxMessage(99));
        refused(EndpointException.Reason.LIMIT, "at most 99",
                () -> small.client().startRendezvous(readable(small.client(), 100, 1)));
    }

    /** The peer may be reading it: its memory stays as it is until the connection is gone. */
    @Test
    void aCloseTakesBackWhatThePeerHasNotRead() throws Exception {
        Pair pair = connect();
        LocalRegion region = readable(pair.client(), 300_000, 4);
        List<Pending<Void>> sent = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            sent.add(pair.client().startRendezvous(region));
        }
        pair.client().link.connection().locked(() -> {
            pair.client().link.disconnect();
            assertThrows(RegionBusyException.class, () -> region.put(0, new byte[1], 1));
        });
        pair.client().close();
        for (Pending<Void> one : sent) {
            assertEquals(EndpointException.Reason.CLOSED,
                    assertThrows(EndpointException.class, one::await).reason());
        }
        Await.until("the peer knows", () -> {
            try {
                pair.server().receive(Duration.ofSeconds(1)).close();
                return false;
            } catch (EndpointException e) {
                return e.reason() == EndpointException.Reason.PEER_CLOSED;
            }
        });
        region.close();
        Await.until("the memory is free", region.block::hasEnded);
    }

    @Test
    void aPeerThatLeavesWithoutReadingFailsTheSend() throws Exception {
        Pair pair = connect();
        LocalRegion region = readable(pair.client(), 300_000, 4);
        Pending<Void> sent = pair.client().startRendezvous(region);
        Call<Void> waits = run("await", sent::await).awaitBlocked();
        pair.server().close();
        EndpointException e = assertThrows(EndpointException.class, waits::result);
        assertEquals(EndpointException.Reason.PEER_CLOSED, e.reason());
        region.close();
        Await.until("the memory is free", region.block::hasEnded);
    }

    @Test
    void memoryThatIsNotThereEndsThatConnectionOnly() throws Exception {
        Pair pair = connect();
        Pair neighbour = connect();
        Forged.send(pair.client(), new Header(Header.Kind.MESSAGE, Header.FIRST | Header.RENDEZVOUS, 0, 0, 0x1234567, 0,
                0, 0x7000_0000_0000L, 100_000, 0), 0);
        assertThrows(EndpointException.class, () -> pair.server().receive(PATIENCE));
        Await.until("the connection is over", pair.server().link::isOver);
        assertFalse(neighbour.server().link.isOver());
        neighbour.client().startRendezvous(readable(neighbour.client(), 100_000, 6));
        assertArrayEquals(random(100_000, 6), neighbour.server().receiveArray(MOST, PATIENCE));
    }
}
