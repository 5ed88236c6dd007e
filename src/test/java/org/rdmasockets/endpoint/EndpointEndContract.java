package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.verbs.Capability;

/** How connections end: closed here, closed there, lost, or broken by a hostile peer. */
abstract class EndpointEndContract extends EndpointContract {
    /** Something that waits on an endpoint. */
    private interface Waiting {
        Object on(RdmaEndpoint end) throws Exception;
    }

    private static final int LAST_WORDS = 50;
    private static final Duration NEVER = Duration.ofHours(1);
    private static final List<Waiting> WAITS = List.of(RdmaEndpoint::receive, RdmaEndpoint::receiveImmediate,
            RdmaEndpoint::receiveShared, RdmaEndpoint::receiveHandedOver, end -> {
                LocalRegion region = end.allocate(20_000);
                while (true) {
                    end.send(region); // until there is no credit left
                }
            });

    private List<Call<Object>> allWaiting(RdmaEndpoint end) throws Exception {
        List<Call<Object>> calls = new ArrayList<>();
        for (Waiting wait : WAITS) {
            calls.add(start("wait " + calls.size(), () -> wait.on(end)));
            calls.add(start("second wait " + calls.size(), () -> wait.on(end)));
        }
        for (Call<Object> call : calls) {
            call.awaitBlocked();
        }
        return calls;
    }

    private static void allFail(List<Call<Object>> calls, EndpointException.Reason... reasons) {
        for (Call<Object> call : calls) {
            EndpointException e = call.failure(EndpointException.class);
            assertTrue(List.of(reasons).contains(e.reason()), () -> e.reason() + ": " + e.getMessage());
        }
    }

    @Test
    void aRequestThatADeviceCompletesTwiceCountsOnce() throws Exception {
        Pair pair = connect();
        EndpointProtocol link = pair.client().link;
        pair.client().send(filled(pair.client(), 10, 1));
        assertArrayEquals(random(10, 1), pair.server().receiveArray(100, PATIENCE));
        Await.until("the send has completed", () -> link.compute(unused -> !link.sends.isBusy()));
        link.compute(unused -> {
            for (int i = 0; i < 200; i++) {
                link.sends.completed(0, false);
            }
            return null;
        });
        pair.client().send(filled(pair.client(), 10, 2));
        assertArrayEquals(random(10, 2), pair.server().receiveArray(100, PATIENCE));
    }

    @Test
    void closingWakesEverybodyHere() throws Exception {
        Pair pair = connect();
        List<Call<Object>> calls = allWaiting(pair.client());
        pair.client().close();
        pair.client().close();
        allFail(calls, EndpointException.Reason.CLOSED);
        refused(EndpointException.Reason.CLOSED, "closed", () -> pair.client().receive());
        refused(EndpointException.Reason.CLOSED, "closed", () -> pair.client().requestRemote(8));
    }

    /** The peer's last word may be here before the device has told that the send is done. */
    @Test
    void whatThePeerHasTakenInSucceedsAlthoughItCloses() throws Exception {
        for (int i = 0; i < LAST_WORDS; i++) {
            Pair pair = connect();
            Call<Void> peer = run("close", () -> {
                pair.server().receive(PATIENCE).close();
                pair.server().close();
            });
            pair.client().sendImmediate(i);
            peer.result();
            pair.client().close();
        }
    }

    /** rdma-io: the peer sees the disconnect. */
    @Test
    void closingWakesEverybodyThere() throws Exception {
        Pair pair = connect();
        List<Call<Object>> calls = allWaiting(pair.server());
        pair.client().close();
        allFail(calls, EndpointException.Reason.PEER_CLOSED);
        LocalRegion region = pair.server().allocate(8);
        refused(EndpointException.Reason.PEER_CLOSED, "closed", () -> pair.server().send(region));
    }

    /** async-rdma: a peer's death is never noticed there. */
    @Test
    void aPeerThatLeavesWithoutAWordFailsEverybody() throws Exception {
        Pair pair = connect();
        List<Call<Object>> calls = allWaiting(pair.server());
        pair.client().link.connection().abort();
        allFail(calls, EndpointException.Reason.PEER_GONE, EndpointException.Reason.DEVICE);
    }

    /** rdma-io: what was sent before the close arrives. */
    @Test
    void whatWasSentBeforeTheCloseArrives() throws Exception {
        Pair pair = connect();
        for (int i = 0; i < 10; i++) {
            pair.client().send(filled(pair.client(), 5000, i));
        }
        pair.client().close();
        for (int i = 0; i < 10; i++) {
            try (Message message = pair.server().receive(PATIENCE)) {
                assertArrayEquals(random(5000, i), message.toArray());
            }
        }
        refused(EndpointException.Reason.PEER_CLOSED, "closed", () -> pair.server().receive(PATIENCE));
    }

    /** The time for lingering is not needed: the device's word is enough, or the peer's, which goes as well. */
    @Test
    void aClosedConnectionEndsByItself() throws Exception {
        for (int round = 0; round < 10; round++) {
            boolean raw = round % 2 == 1;
            Pair pair = connect(builder().raw(raw).linger(NEVER), builder().raw(raw));
            MemorySegment here = pair.client().allocate(8).segment();
            pair.client().close();
            Await.until("the closed end has ended", () -> !here.scope().isAlive());
        }
    }

    /** Each says that it goes, and has closed its ears. */
    @Test
    void closesThatCrossEndTheConnection() throws Exception {
        for (int round = 0; round < 20; round++) {
            Pair pair = connect(builder().linger(NEVER), builder().linger(NEVER));
            MemorySegment here = pair.client().allocate(8).segment();
            MemorySegment there = pair.server().allocate(8).segment();
            Call<Void> other = run("close", pair.server()::close);
            pair.client().close();
            other.result();
            Await.until("both have ended", () -> !here.scope().isAlive() && !there.scope().isAlive());
        }
    }

    /** rdma-io: dropped with work in flight. */
    @Test
    void closingWithWorkInFlightIsHarmless() throws Exception {
        for (int round = 0; round < 20; round++) {
            Pair pair = connect();
            LocalRegion there = open(pair.server(), 100_000);
            LocalRegion here = pair.client().allocate(100_000);
            List<Pending<Void>> pending = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                pending.add(pair.client().startWrite(here, there.remote()));
                pending.add(pair.client().startSend(here.slice(0, 1000)));
            }
            (round % 2 == 0 ? pair.client() : pair.server()).close();
            for (Pending<Void> one : pending) {
                try {
                    one.await(PATIENCE);
                } catch (EndpointException e) {
                    assertTrue(one.isDone());
                }
            }
            pair.client().close();
            pair.server().close();
        }
    }

    @Test
    void memoryIsFreeAgainWhenTheConnectionIsOver() throws Exception {
        Pair first = connect();
        Pair pair = connectSharing(first);
        LocalRegion region = first.client().allocate(50_000);
        Pending<Void> stuck = pair.client().startSend(region);
        pair.client().close();
        assertThrows(EndpointException.class, () -> stuck.await(PATIENCE));
        Await.until("the memory is free", region::isWritable);
        assertEquals(50_000, region.segment().byteSize());
    }

    /** Buffers go back with the connection; what is in them by then is another's. */
    @Test
    void whatHasArrivedIsGoneAfterTheOwnClose() throws Exception {
        Pair first = connect();
        Pair pair = connectSharing(first);
        Domain domain = pair.client().link.domain;
        RemoteLease lease = pair.server().requestRemote(700);
        long before = domain.bytes();
        pair.server().handOver(lease);
        pair.server().send(filled(pair.server(), 100, 1));
        Await.until("the message is there",
                () -> pair.client().link.compute(all -> all.messageSide().messages.size()) == 1);
        pair.client().close();
        refused(EndpointException.Reason.CLOSED, "closed", () -> pair.client().receive(PATIENCE));
        refused(EndpointException.Reason.CLOSED, "closed", () -> pair.client().receiveHandedOver(PATIENCE));
        Await.until("what was handed over is freed", () -> domain.bytes() < before);
    }

    @Test
    void whatIsBegunAfterTheEndSaysWhyItFails() throws Exception {
        Pair pair = connect();
        LocalRegion region = pair.client().allocate(64);
        MemorySegment segment = region.segment();
        RemoteRegion there = open(pair.server(), 64).remote();
        pair.client().close();
        Await.until("the region ends", () -> !segment.scope().isAlive());
        refused(EndpointException.Reason.CLOSED, "closed", () -> pair.client().send(region));
        refused(EndpointException.Reason.CLOSED, "closed", () -> pair.client().read(region, there));
    }

    /** Memory is what its bytes need that have come, or some times that, whatever the peer announces. */
    @Test
    void whatAPeerAnnouncesTakesNoMemory() throws Exception {
        Pair first = connect();
        Pair pair = connectSharing(first);
        Domain domain = pair.client().link.domain;
        long before = domain.bytes();
        Forged.sendPieces(pair.server(), 64 << 20, 1, 1);
        assertThrows(SocketTimeoutException.class, () -> pair.client().receive(Duration.ofMillis(200)));
        int left = pair.client().link.compute(all -> all.messageSide().messages.size());
        assertEquals(0, left, "it was taken");
        assertTrue(domain.bytes() <= before + (1 << 20), () -> domain.bytes() - before + " bytes");
    }

    @Test
    void whatHasComeOfAMessageGoesWithTheConnection() throws Exception {
        Pair first = connect();
        Pair pair = connectSharing(first);
        Domain domain = pair.client().link.domain;
        int large = BufferPool.MOST_BYTES + 1; // smaller pieces of memory stay with the domain
        Forged.sendPieces(pair.server(), 64 << 20, large / 8000, 8000);
        Await.until("much of a message has come", () -> {
            assertThrows(SocketTimeoutException.class, () -> pair.client().receive(Duration.ofMillis(50)));
            return domain.bytes() >= large;
        });
        long most = domain.bytes();
        pair.client().close();
        Await.until("its memory is freed", () -> domain.bytes() <= most - large);
    }

    /** The last word needs no credit that is kept for others. */
    @Test
    void aPeerThatLeavesSaysSoAlsoWithoutCredits() throws Exception {
        Pair pair = connect();
        pair.server().link.connection().locked(() -> { // the server takes nothing in meanwhile
            for (int i = 0; i < 50; i++) {
                pair.client().link.connection().locked(() -> pair.client().link.sends
                        .tell(new ControlMessage(Header.of(Header.Kind.LEASE_RELEASE))));
            }
            pair.client().close();
        });
        refused(EndpointException.Reason.PEER_CLOSED, "closed", () -> pair.server().receive(PATIENCE));
    }

    /** An answer of the peer's device is asked for whatever else waits. */
    @Test
    void aSignOfLifeWaitsForNobody() throws Exception {
        Pair pair = connect(builder(), builder().receiveBuffers(2, 512));
        if (!pair.client().supports(Capability.IMMEDIATE_DATA)) {
            return; // there, nothing that touches the peer's memory waits for a receive
        }
        LocalRegion here = pair.client().allocate(8);
        RemoteRegion there = open(pair.server(), 8).remote();
        pair.client().write(here, there, 1);
        pair.client().write(here, there, 2);
        Pending<Void> waiting = pair.client().startWrite(here, there, 3);
        boolean asked = pair.client().link.compute(all -> {
            all.sends.probe();
            return all.sends.isBusy();
        });
        assertTrue(asked);
        assertFalse(waiting.isDone());
    }

    private Pair connectSharing(Pair first) throws Exception {
        RdmaEndpointServer listening = closing(builder().receiveBuffers(2, 512).listen(anyPort()));
        RdmaEndpoint client = closing(first.client().another().connect(listening.localAddress()));
        return new Pair(client, closing(listening.accept(PATIENCE)));
    }

    /** Each of these is one message of so many bytes; the last breaks the connection. */
    @SafeVarargs
    private void breaks(String text, int length, Consumer<LocalRegion>... forges) throws Exception {
        Pair neighbour = connect();
        Pair pair = connect(builder(), builder().maxMessage(10_000));
        for (Consumer<LocalRegion> forge : forges) {
            LocalRegion bytes = pair.client().allocate(length);
            forge.accept(bytes);
            Forged.send(pair.client(), bytes);
        }
        EndpointException e = assertThrows(EndpointException.class, () -> pair.server().receiveShared(PATIENCE));
        assertEquals(EndpointException.Reason.PROTOCOL, e.reason(), e::getMessage);
        assertTrue(e.getMessage().contains(text), () -> "\"" + text + "\" is not in: " + e.getMessage());
        assertThrows(EndpointException.class, () -> pair.client().receive(PATIENCE));
        neighbour.client().send(neighbour.client().allocate(7));
        assertEquals(7, neighbour.server().receive(PATIENCE).length());
    }

    private static Consumer<LocalRegion> header(Header header) {
        return region -> header.write(region.segment());
    }

    private static Header of(Header.Kind kind, int flags, int dataTaken, long answers, long length) {
        return new Header(kind, flags, 0, dataTaken, 0, 0, answers, 0, length, 0);
    }

    @Test
    void messagesThatAreShorterThanAHeaderEndTheConnection() throws Exception {
        breaks("shorter than its header", 55, region -> region.segment().fill((byte) 1));
    }

    @Test
    void unknownKindsEndTheConnection() throws Exception {
        breaks("no kind 0", 56, region -> { });
        breaks("no kind -1", 64, region -> region.segment().fill((byte) -1));
    }

    @Test
    void countsOfWhatWasNeverSentEndTheConnection() throws Exception {
        breaks("has taken 3 messages", 56, header(of(Header.Kind.CREDIT, 0, 3, 0, 0)));
        breaks("has taken", 56, header(of(Header.Kind.CREDIT, 0, -1, 0, 0)));
    }

    @Test
    void piecesThatMakeNoMessageEndTheConnection() throws Exception {
        breaks("a piece of no message", 64, header(of(Header.Kind.MESSAGE, 0, 0, 0, 8)));
        breaks("at most 10000", 64, header(of(Header.Kind.MESSAGE, Header.FIRST, 0, 0, 10_001)));
        breaks("-1 bytes", 64, header(of(Header.Kind.MESSAGE, Header.FIRST, 0, 0, -1)));
        breaks("where 7 are missing", 64, header(of(Header.Kind.MESSAGE, Header.FIRST, 0, 0, 7)));
        breaks("a piece of 0 bytes", 56, header(of(Header.Kind.MESSAGE, Header.FIRST, 0, 0, 7)));
        int toRead = Header.FIRST | Header.RENDEZVOUS;
        breaks("and 8 bytes with it", 64, header(of(Header.Kind.MESSAGE, toRead, 0, 0, 8)));
        breaks("a message of 0 bytes to be read", 56, header(of(Header.Kind.MESSAGE, toRead, 0, 0, 0)));
        breaks("at most 10000", 56, header(of(Header.Kind.MESSAGE, toRead, 0, 0, 10_001)));
        breaks("to be read at 0xffff", 56, header(new Header(Header.Kind.MESSAGE, toRead, 0, 0, 1, 0, 0, -4, 8, 0)));
        for (long other : new long[] {0, 15, 17}) {
            breaks("a message of " + other + " bytes within one of 16", 64,
                    header(of(Header.Kind.MESSAGE, Header.FIRST, 0, 0, 16)),
                    header(of(Header.Kind.MESSAGE, 0, 0, 0, other)));
        }
    }

    @Test
    void signalsThatNobodyTakesEndTheConnection() throws Exception {
        Consumer<LocalRegion> signal = header(of(Header.Kind.SIGNAL, 0, 0, 0, 0));
        breaks("more than 2 signals", 56, signal, signal, signal);
    }

    @Test
    void answersWithoutAQuestionEndTheConnection() throws Exception {
        breaks("not asked", 56, header(of(Header.Kind.LEASE_GRANT, 0, 0, 5, 8)));
        breaks("not asked", 56, header(of(Header.Kind.LEASE_REFUSAL, 0, 0, 5, 8)));
        breaks("not handed over", 56, header(of(Header.Kind.HANDED_OVER, 0, 0, 5, 0)));
        breaks("none was left", 56, header(of(Header.Kind.MESSAGE_READ, 0, 0, 0, 0)));
    }

    @Test
    void impossibleLeasesEndTheConnection() throws Exception {
        breaks("asks for 0 bytes", 56, header(of(Header.Kind.LEASE_REQUEST, 0, 0, 1, 0)));
        breaks("asks for -8 bytes", 56, header(of(Header.Kind.LEASE_REQUEST, 0, 0, 1, -8)));
        breaks("lends 0 bytes", 56, header(of(Header.Kind.SHARE, 0, 0, 0, 0)));
    }
}
