package org.rdmasockets.internal.rpc.call;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaEndpointServer;

/** Long messages go in parts, which take turns, and short frames go between. */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PartsTest {
    private static final Duration LIMIT = Duration.ofSeconds(40);
    private static final int LONG_BYTES = 1 << 20;

    /** A carrier whose peer is this test, which looks at each frame as it comes and takes none before it wants to. */
    private static final class Dialled implements AutoCloseable {
        private final RdmaEndpointServer server = RdmaEndpoint.builder().listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        private final EndpointCarrier carrier;
        private final RdmaEndpoint peer;

        Dialled() throws IOException {
            carrier = (EndpointCarrier) EndpointCarrier.connect(server.localAddress(), LONG_BYTES, LIMIT.toNanos());
            peer = server.accept();
            Frame hello = new Frame(Frame.HELLO, Frame.NUMBERED | Frame.TAKES_PARTS, 0, new byte[Long.BYTES]);
            ByteBuffer bytes = ByteBuffer.allocate(hello.size());
            hello.encode(bytes);
            try (LocalRegion region = peer.allocate(bytes.capacity())) {
                region.put(0, bytes.array(), bytes.capacity());
                peer.send(region);
            }
            assertEquals(Frame.HELLO, carrier.receive(System.nanoTime() + LIMIT.toNanos()).kind);
        }

        /** Sends on a thread that waits soon, for room at the peer or for another one that does. */
        Thread sendAndWait(Frame frame) throws Exception {
            Thread sender = Thread.ofPlatform().daemon().start(() -> {
                try {
                    carrier.send(frame, Long.MAX_VALUE);
                } catch (IOException e) {
                    return; // the test is over
                }
            });
            Await.until("the sender waits", () -> sender.getState() == Thread.State.WAITING
                    || sender.getState() == Thread.State.TIMED_WAITING, sender::getState);
            return sender;
        }

        /** The frames that come until one that ends it. */
        List<Frame> take(int kind, int call) throws IOException {
            List<Frame> all = new ArrayList<>();
            while (true) {
                try (Message message = peer.receive(LIMIT)) {
                    ByteBuffer bytes = ByteBuffer.wrap(message.toArray());
                    while (bytes.hasRemaining()) {
                        all.add(Frame.decodeNext(bytes));
                    }
                }
                if (all.getLast().kind == kind && all.getLast().call == call) {
                    return all;
                }
            }
        }

        @Override
        public void close() {
            carrier.close();
            peer.close();
            server.close();
        }
    }

    private static Frame message(int call, int length) {
        byte[] bytes = new byte[length];
        new Random(call).nextBytes(bytes);
        return new Frame(Frame.MESSAGE, Frame.LAST, call, bytes);
    }

    private static int indexOf(List<Frame> frames, int kind, int call) {
        for (int i = 0; i < frames.size(); i++) {
            if (frames.get(i).kind == kind && frames.get(i).call == call) {
                return i;
            }
        }
        return -1;
    }

    @Test
    void longMessagesTakeTurnsAndAShortOneGoesBetween() throws Exception {
        try (Dialled dialled = new Dialled()) {
            Frame first = message(1, LONG_BYTES);
            dialled.sendAndWait(first);
            dialled.sendAndWait(message(2, LONG_BYTES));
            dialled.carrier.send(message(3, 64), Long.MAX_VALUE); // returns, though no thread takes anything
            List<Frame> all = new ArrayList<>(dialled.take(Frame.MESSAGE, 1));
            if (indexOf(all, Frame.MESSAGE, 2) < 0) {
                all.addAll(dialled.take(Frame.MESSAGE, 2));
            }
            int inWindow = 2 + 32 + 16; // the peer takes 32 before it gives credit back; 16 have a slot here
            int shortOne = indexOf(all, Frame.MESSAGE, 3);
            assertTrue(shortOne >= 0 && shortOne <= inWindow, "the short one is number " + shortOne);
            int second = indexOf(all, Frame.PART, 2);
            assertTrue(second > 0 && second <= inWindow + 1, "the second long one begins at " + second);
            int end = Math.min(indexOf(all, Frame.MESSAGE, 1), indexOf(all, Frame.MESSAGE, 2));
            List<Frame> turns = all.subList(second, end).stream().filter(frame -> frame.kind == Frame.PART).toList();
            for (int i = 1; i < turns.size(); i++) {
                assertNotEquals(turns.get(i - 1).call, turns.get(i).call, "two parts of one message, at " + i);
            }
            ByteBuffer whole = ByteBuffer.allocate(LONG_BYTES);
            all.stream().filter(frame -> frame.kind == Frame.PART && frame.call == 1)
                    .forEach(frame -> whole.put(frame.message));
            assertArrayEquals(first.message, whole.array());
        }
    }

    /** Else a server would run a call that its client has given up before. */
    @Test
    void aCallThatIsCancelledBeforeItsMessageIsWholeNeverComes() throws Exception {
        try (Dialled dialled = new Dialled()) {
            Frame call = new Frame(Frame.CALL, Frame.LAST, 1, new byte[LONG_BYTES]);
            Thread sender = dialled.sendAndWait(call);
            dialled.carrier.send(new Frame(Frame.CANCEL, 0, 1), Long.MAX_VALUE);
            List<Frame> all = dialled.take(Frame.CANCEL, 1);
            assertEquals(-1, indexOf(all, Frame.CALL, 1));
            Frame word = all.get(all.size() - 2);
            assertTrue(word.kind == Frame.PART && word.message == null, () -> "the message is given up by " + word);
            assertTrue(sender.join(LIMIT), "its sender has left");
            assertFalse(dialled.carrier.holds());
        }
    }

    /** A message whose time is over in the middle is given up, and the next one goes. */
    @Test
    void aMessageThatFindsNoRoomInTimeWasNotSent() throws Exception {
        try (Dialled dialled = new Dialled()) {
            boolean late = false;
            try {
                dialled.carrier.send(message(1, LONG_BYTES), System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(50));
            } catch (SocketTimeoutException e) {
                late = true;
            }
            assertTrue(late, "nothing was taken");
            dialled.sendAndWait(message(2, LONG_BYTES));
            List<Frame> all = dialled.take(Frame.MESSAGE, 2);
            assertEquals(-1, indexOf(all, Frame.MESSAGE, 1));
            assertTrue(all.stream().anyMatch(frame -> frame.kind == Frame.PART && frame.call == 1
                    && frame.message == null), "the peer is told to forget it");
        }
    }

    /** It goes straight into the array that the application gets. */
    @Test
    void aLongMessageIsCopiedToTheHeapOnce() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        byte[] ping = {1};
        byte[] large = message(1, LONG_BYTES).message;
        try (CallServer server = CallServer.over(EndpointCarrier.listen(new InetSocketAddress(
                InetAddress.getLoopbackAddress(), 0), LONG_BYTES), name -> new CallMethod.Begun(
                call -> call.finish(Code.OK, "", null, call.poll() == null ? ping : large), false),
                CallServer.Settings.DEFAULT);
                Carrier carrier = EndpointCarrier.connect(server.localAddress(), LONG_BYTES, LIMIT.toNanos())) {
            Frame hello = new Frame(Frame.HELLO, Frame.NUMBERED | Frame.TAKES_PARTS, 0,
                    new byte[ClientConnection.IDENTITY_BYTES + Long.BYTES]);
            hello.code = CallConnection.VERSION;
            hello.value = LONG_BYTES;
            hello.number = CallConnection.WINDOW;
            carrier.send(hello, Long.MAX_VALUE);
            long deadline = System.nanoTime() + LIMIT.toNanos();
            assertEquals(Frame.HELLO, carrier.receive(deadline).kind);
            long allocated = 0;
            for (int i = 1; i <= 3; i++) { // all classes and arrays that stay are there at the third
                carrier.send(new Frame(Frame.CALL, Frame.LAST, i, ping), Long.MAX_VALUE);
                long before = threads.getCurrentThreadAllocatedBytes();
                Frame answer = carrier.receive(deadline);
                allocated = threads.getCurrentThreadAllocatedBytes() - before;
                assertArrayEquals(large, answer.message);
            }
            assertTrue(allocated < LONG_BYTES * 3L / 2, allocated + " bytes for a message of " + LONG_BYTES);
        }
    }
}
