package org.rdmasockets.internal.rpc.call;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;

/**
 * A caller comes to its turn to read just after the one before it has read all that there is, and left: nothing follows
 * that would end another read.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReadersTurnTest {
    private static final byte[] PING = {1, 2, 3};
    private static final ClientConnection.Start START = new ClientConnection.Start("echo", null, PING, true,
            Long.MAX_VALUE, 0, 0, false);

    /** A peer that says what it was told to, and then nothing: a read fails instead of waiting for ever. */
    private static final class Script implements Carrier {
        private final BlockingQueue<Frame> frames = new LinkedBlockingQueue<>();
        private final AtomicInteger readsInVain = new AtomicInteger();
        private volatile boolean fails;

        Script(int places) {
            Frame hello = new Frame(Frame.HELLO, Frame.NUMBERED, 0, new byte[Long.BYTES]);
            hello.code = CallConnection.VERSION;
            hello.value = CallConnection.WINDOW;
            hello.number = CallConnection.WINDOW;
            hello.answered = places;
            frames.add(hello);
        }

        void answer(CallStream call) {
            frames.add(new Frame(Frame.MESSAGE, Frame.LAST, call.id, PING));
        }

        @Override
        public void send(Frame frame, long deadlineNanos) {
            // The answers are there when the test wants them.
        }

        @Override
        public Frame receive(long deadlineNanos) throws IOException {
            Frame next = frames.poll();
            if (fails) {
                throw new OutOfMemoryError("thrown by the test");
            }
            if (next == null) {
                readsInVain.incrementAndGet();
                throw new IOException("nothing more will come");
            }
            return next;
        }

        @Override
        public void wakeup() {
            // No thread waits.
        }

        @Override
        public String transport() {
            return "script";
        }

        @Override
        public InetSocketAddress localAddress() {
            return new InetSocketAddress(0);
        }

        @Override
        public InetSocketAddress remoteAddress() {
            return new InetSocketAddress(0);
        }

        @Override
        public void close() {
            // There is nothing to end.
        }
    }

    private static ClientConnection connect(Script script) throws IOException {
        return new ClientConnection(script, CallConnection.WINDOW, new byte[ClientConnection.IDENTITY_BYTES], 0,
                CallConnection.HELLO_NANOS);
    }

    /** Runs something up to where it wants the turn, which the caller keeps from it. */
    private static void runToItsTurn(FutureTask<?> task) throws Exception {
        Thread thread = Thread.ofPlatform().daemon().start(task);
        Await.until("the other thread wants its turn", () -> thread.getState() == Thread.State.BLOCKED,
                thread::getState);
    }

    /** A connection with two calls, and another thread that waits for the second of them. */
    private static final class Two {
        private final Script script = new Script(2);
        private final ClientConnection connection = connect(script);
        private final CallStream first = connection.begin(START, null);
        private final CallStream second = connection.begin(START, null);
        private final FutureTask<Boolean> other;

        Two(int what) throws IOException {
            other = new FutureTask<>(() -> second.await(what, Long.MAX_VALUE));
        }
    }

    @Test
    void aCallerWhoseAnswerWasReadMeanwhileDoesNotRead() throws Exception {
        Two two = new Two(CallStream.END);
        synchronized (two.connection.turns) {
            runToItsTurn(two.other);
            two.script.answer(two.second);
            two.script.answer(two.first);
            assertTrue(two.first.await(CallStream.END, Long.MAX_VALUE));
        }
        assertTrue(two.other.get(40, TimeUnit.SECONDS));
        assertEquals(0, two.script.readsInVain.get(), "reads that nothing would have ended");
        assertArrayEquals(PING, two.second.poll());
        assertTrue(two.connection.isOpen());
    }

    /** The message that a stream waits for has come, and its end has not. */
    @Test
    void aStreamWhoseMessageWasReadMeanwhileDoesNotRead() throws Exception {
        Two two = new Two(CallStream.INPUT);
        synchronized (two.connection.turns) {
            runToItsTurn(two.other);
            two.script.frames.add(new Frame(Frame.MESSAGE, 0, two.second.id, PING));
            two.script.answer(two.first);
            assertTrue(two.first.await(CallStream.END, Long.MAX_VALUE));
        }
        assertTrue(two.other.get(40, TimeUnit.SECONDS));
        assertEquals(0, two.script.readsInVain.get(), "reads that nothing would have ended");
        assertArrayEquals(PING, two.second.poll());
        assertEquals(-1, two.second.code());
    }

    @Test
    void aCallerForWhomAPlaceHasBecomeFreeMeanwhileDoesNotRead() throws Exception {
        Script script = new Script(1);
        ClientConnection connection = connect(script);
        CallStream first = connection.begin(START, null);
        FutureTask<CallStream> other = new FutureTask<>(() -> connection.begin(START, null));
        synchronized (connection.turns) {
            runToItsTurn(other);
            script.answer(first);
            assertTrue(first.await(CallStream.END, Long.MAX_VALUE));
        }
        CallStream second = other.get(40, TimeUnit.SECONDS);
        assertEquals(0, script.readsInVain.get(), "reads that nothing would have ended");
        assertEquals(-1, second.code());
        script.answer(second);
        assertTrue(second.await(CallStream.END, Long.MAX_VALUE));
        assertArrayEquals(PING, second.poll());
    }

    /** Its first sending may have reached the server: under a new number it would run twice. */
    @Test
    void aRepeatThatIsNotSentCountsAsLost() throws Exception {
        ClientConnection over = connect(new Script(1));
        over.close();
        CallStream repeat = over.begin(new ClientConnection.Start("echo", null, PING, true, Long.MAX_VALUE, 1, 1, true),
                null);
        assertTrue(repeat.isLost());
        assertFalse(repeat.isNotBegun());
        CallStream first = over.begin(START, null);
        assertTrue(first.isNotBegun());
        assertFalse(first.isLost());
    }

    /** The server has ended all that it had begun; a call that repeats a lost one may run, begun over another. */
    @Test
    void theLastWordOfAServerIsThatNoCallRuns() throws Exception {
        Script script = new Script(2);
        ClientConnection connection = connect(script);
        CallStream first = connection.begin(START, null);
        CallStream repeat = connection.begin(new ClientConnection.Start("echo", null, PING, true, Long.MAX_VALUE, 1, 1,
                true), null);
        script.frames.add(new Frame(Frame.GOAWAY, Frame.LAST, 0));
        assertTrue(first.await(CallStream.END, Long.MAX_VALUE));
        assertEquals(Code.UNAVAILABLE, first.code());
        assertTrue(first.isNotBegun());
        assertTrue(repeat.await(CallStream.END, Long.MAX_VALUE)); // with the connection
        assertTrue(repeat.isLost());
    }

    /** A frame is lost with it, and others wait for that. */
    @Test
    void anErrorOfWhoReadsEndsTheConnectionForAll() throws Exception {
        Two two = new Two(CallStream.END);
        synchronized (two.connection.turns) {
            runToItsTurn(two.other);
            two.script.fails = true;
            assertThrows(OutOfMemoryError.class, () -> two.first.await(CallStream.END, Long.MAX_VALUE));
        }
        assertTrue(two.other.get(40, TimeUnit.SECONDS));
        assertEquals(Code.UNAVAILABLE, two.first.code());
        assertEquals(Code.UNAVAILABLE, two.second.code());
        assertFalse(two.connection.isOpen());
    }

    /** The same holds for the background thread, which reads for calls with a listener. */
    @Test
    void anErrorOfTheBackgroundReaderEndsTheConnectionForAll() throws Exception {
        Script script = new Script(3);
        ClientConnection connection = connect(script);
        script.fails = true;
        AtomicInteger ends = new AtomicInteger();
        CallStream[] call = new CallStream[1];
        synchronized (connection.turns) { // it begins to read when the call is there
            call[0] = connection.begin(START, ends::incrementAndGet);
        }
        Await.until("the call's end", () -> call[0].code() == Code.UNAVAILABLE && ends.get() > 0, call[0]::code);
        assertFalse(connection.isOpen());
        assertEquals(Code.UNAVAILABLE, connection.begin(START, null).code());
    }
}
