package org.rdmasockets.far;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.internal.lock.Rescues;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** A JVM of its own that does what it is asked for; it ends when it is closed, and with this one. */
public final class OtherJvm implements AutoCloseable {
    private static final int START_MILLIS = 40_000;
    private static final int CONNECT_MILLIS = 2_000;
    private static final int RETRY_MILLIS = 200;
    /** Number of no thing. */
    private static final long NOTHING = 0;
    /** Threads of this JVM that wait for the end of a call, and the call. */
    private static final Map<Thread, Waiter> CALLERS = new ConcurrentHashMap<>();

    /** Null until this JVM has connected to one of another host. */
    private static volatile OtherJvm ofOtherHost;

    /** Null for one that was there. */
    private final Process process;
    private final Line line;
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, Waiter> waiters = new ConcurrentHashMap<>();
    /** Requests to write, serialized. Callers may be interrupted while they write, so they do not. */
    private final BlockingQueue<byte[]> leaving = new LinkedBlockingQueue<>();
    private volatile boolean gone;

    private final Thread writer = Thread.ofPlatform().daemon().name("writes to the other JVM").unstarted(this::write);

    private OtherJvm(Process process, Line line) {
        this.process = process;
        this.line = line;
    }

    private void begin() {
        writer.start();
        Thread.ofPlatform().daemon().name("reads from the other JVM").start(this::receive);
    }

    /**
     * Starts a JVM.
     *
     * @return ready
     * @throws IOException if it does not start
     */
    public static OtherJvm start() throws IOException {
        InetAddress loopback = InetAddress.ofLiteral("127.0.0.1");
        try (ServerSocket door = new ServerSocket(0, 1, loopback)) {
            Process process = ChildJvm.start(List.of(), List.of("--enable-native-access=ALL-UNNAMED", "-Xmx1g"),
                    Servant.class, Integer.toString(door.getLocalPort()));
            BufferedReader output = process.inputReader();
            Thread.ofPlatform().daemon().name("output of the other JVM").start(
                    () -> output.lines().forEach(text -> System.out.println("the other JVM: " + text)));
            door.setSoTimeout(START_MILLIS);
            try {
                OtherJvm jvm = new OtherJvm(process, new Line(door.accept()));
                jvm.begin();
                return jvm;
            } catch (IOException e) {
                process.destroyForcibly();
                throw e;
            }
        }
    }

    /**
     * Connects to the JVM of another host, whose main class is {@code Servant}; it ends with this connection.
     *
     * @param address where it listens, or will
     * @param limitMillis longest wait for it
     * @return ready
     * @throws IOException if it does not listen in time
     * @throws InterruptedException if interrupted
     */
    public static OtherJvm at(InetSocketAddress address, long limitMillis) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
        while (true) {
            Socket socket = new Socket();
            try {
                socket.connect(address, CONNECT_MILLIS);
                OtherJvm jvm = new OtherJvm(null, new Line(socket));
                jvm.begin();
                ofOtherHost = jvm;
                return jvm;
            } catch (IOException e) {
                socket.close();
                if (System.nanoTime() - deadline > 0) {
                    throw new IOException("no JVM listens at " + address, e);
                }
            }
            Thread.sleep(RETRY_MILLIS);
        }
    }

    /**
     * The JVM of another host that this one has connected to.
     *
     * @return empty if there is none
     */
    public static Optional<OtherJvm> ofOtherHost() {
        return Optional.ofNullable(ofOtherHost);
    }

    /**
     * Where it is.
     *
     * @return its address, of loopback if it is on this host
     */
    public InetAddress address() {
        return line.address();
    }

    private void receive() {
        try {
            line.receive(this::complete);
        } catch (IOException | ClassNotFoundException e) {
            gone = true;
            waiters.keySet().forEach(number -> complete(Reply.gone(number)));
        }
    }

    private void complete(Object message) {
        Reply reply = (Reply) message;
        Waiter waiter = waiters.remove(reply.number());
        if (waiter != null) { // an interrupt has no waiter
            waiter.reply = reply;
            LockSupport.unpark(waiter.thread);
        }
    }

    /**
     * Makes a thing there.
     *
     * @param <T> its type
     * @param <E> type of the exception that the maker may throw
     * @param maker makes it
     * @return the thing
     * @throws E thrown by the maker
     */
    public <T, E extends Exception> Far<T> make(Question<Void, T, E> maker) throws E {
        return make(NOTHING, maker);
    }

    /**
     * Asks there for what needs no thing.
     *
     * @param <T> type of the answer
     * @param <E> type of the exception that the question may throw
     * @param question the question
     * @return the answer
     * @throws E thrown by the question
     */
    public <T, E extends Exception> T ask(Question<Void, T, E> question) throws E {
        return ask(NOTHING, question);
    }

    <S, T, E extends Exception> Far<T> make(long thing, Question<S, T, E> maker) throws E {
        return new Far<>(this, call(thing, maker, true));
    }

    <S, T, E extends Exception> T ask(long thing, Question<S, T, E> question) throws E {
        return call(thing, question, false);
    }

    /** Runs a call there and waits for its end; an interrupt is passed on. */
    private <R, E extends Exception> R call(long thing, Question<?, ?, E> question, boolean keep) throws E {
        long number = numbers.incrementAndGet();
        Waiter waiter = new Waiter(this, number, Thread.currentThread());
        waiters.put(number, waiter);
        send(new Request(number, thing, question, keep, waiter.thread.isVirtual(), Thread.interrupted()));
        if (gone) {
            complete(Reply.gone(number));
        }
        return result(waiter.await());
    }

    /** Starts a call whose end is of no interest. */
    private void start(Question<Void, Void, RuntimeException> question) {
        send(new Request(numbers.incrementAndGet(), NOTHING, question, false, false, false));
    }

    private void send(Request request) {
        try {
            leaving.add(Line.serialized(request));
        } catch (IOException e) {
            throw new IllegalArgumentException("a question captures what cannot be serialized", e);
        }
    }

    private void write() {
        try {
            while (true) {
                line.send(leaving.take());
            }
        } catch (IOException | InterruptedException e) {
            gone = true; // ends all calls: the reader notices it, too
        }
    }

    @SuppressWarnings("unchecked") // the type of the answer and of the exception is the question's
    private static <R, E extends Exception> R result(Reply reply) throws E {
        if (reply.failure() == null) {
            return (R) reply.value();
        }
        reply.failure().addSuppressed(new Throwable("thrown in the other JVM; this is where it was called"));
        if (reply.failure() instanceof Error error) {
            throw error;
        }
        throw (E) reply.failure();
    }

    void forget(long thing) {
        start(nothing -> {
            Servant.forget(thing);
            return null;
        });
    }

    /** The call that a thread waits for, or null. */
    static Waiter callOf(Thread thread) {
        return CALLERS.get(thread);
    }

    /** A thread that waits for the end of its call. */
    static final class Waiter {
        private final OtherJvm jvm;
        private final long number;
        private final Thread thread;
        private volatile Reply reply;

        private Waiter(OtherJvm jvm, long number, Thread thread) {
            this.jvm = jvm;
            this.number = number;
            this.thread = thread;
        }

        private Reply await() {
            int interrupts = 0;
            CALLERS.put(thread, this);
            while (reply == null) {
                LockSupport.park(this);
                if (Thread.interrupted()) {
                    interrupts++;
                    interruptThere();
                }
            }
            CALLERS.remove(thread);
            if (reply.interrupted() || interrupts > reply.interruptsTaken()) {
                thread.interrupt();
            }
            return reply;
        }

        private void interruptThere() {
            long call = number;
            jvm.start(nothing -> {
                Servant.interrupt(call);
                return null;
            });
        }

        /** Whether the thread that runs the call there is blocked. */
        boolean isBlockedThere() {
            long call = number;
            return jvm.ask(NOTHING, nothing -> Servant.isBlocked(call));
        }
    }

    /** Fails if a timer there has found what a wake-up should have told. */
    public void assertNoRescues() {
        assertEquals("{}", ask(NOTHING, nothing -> Rescues.places().toString()), "rescues in the other JVM");
    }

    /** Ends the process. */
    @Override
    public void close() throws IOException {
        line.close();
        writer.interrupt();
        if (process != null) {
            process.destroyForcibly();
            process.onExit().join();
        }
    }
}
