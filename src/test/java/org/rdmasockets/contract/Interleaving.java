package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * One operation that may block, and what happens to its socket meanwhile, all at moments that a random number gives.
 * The operation ends in every case, and says why in the words of {@code java.net}.
 */
final class Interleaving {
    /** The operations, which may block. */
    private enum Operation { ACCEPT, CONNECT, READ, WRITE, LINGER_CLOSE }

    /** The events during an operation; a timeout is set before. */
    private enum Event { CLOSE, INTERRUPT, TIMEOUT, SHUTDOWN, PEER }

    /** The messages of a plain SocketException whose connection was ended by this end or the other. */
    private static final Set<String> ENDS = Set.of("Socket closed", "Socket is closed", "Connection reset",
            "Connection reset by peer", "Broken pipe");

    private static final byte[] TOO_MUCH = new byte[1 << 25];
    private static final int LINGERING_BYTES = 60_000;
    private static final int SMALL_BUFFER = 8192;
    private static final int PATIENCE_MILLIS = 30_000;
    private static final int MOST_EVENTS = 3;
    private static final int MOST_TIMEOUT_MILLIS = 4;
    private static final long MOST_DELAY_NANOS = TimeUnit.MILLISECONDS.toNanos(2);

    private final SocketFixture fixture;
    private final Random random;
    /** Where a connect waits, null for nowhere. */
    private final InetSocketAddress silent;
    private final Operation operation;
    private final ThreadKind kind;
    private final Set<Event> events = EnumSet.noneOf(Event.class);
    /** Resources to close at the end, last made first. */
    private final Deque<AutoCloseable> opened = new ConcurrentLinkedDeque<>();
    private ServerSocket listener;
    /** The socket of the operation, null where it is the listener. */
    private Socket victim;
    /** The other end of victim, null for none. */
    private Socket peer;
    private InetSocketAddress destination;

    /** A random one. */
    Interleaving(SocketFixture fixture, InetSocketAddress silent, Random random) {
        this.fixture = fixture;
        this.silent = silent;
        this.random = random;
        this.operation = oneOf(Operation.values());
        this.kind = oneOf(ThreadKind.values());
        for (int i = random.nextInt(MOST_EVENTS) + 1; i > 0; i--) {
            events.add(oneOf(Event.values()));
        }
    }

    private <T> T oneOf(T[] choices) {
        return choices[random.nextInt(choices.length)];
    }

    @Override
    public String toString() {
        return operation + " in a " + kind + " thread with " + events;
    }

    /** Lets it happen, and leaves nothing open. */
    void run() throws Exception {
        try {
            prepare();
            Call<?> call = begin();
            List<Call<Void>> others = new ArrayList<>();
            for (Event event : events) {
                others.add(start(event, call));
            }
            if (events.equals(EnumSet.of(Event.TIMEOUT))) {
                checkTimeout(call);
            }
            LockSupport.parkNanos(random.nextLong(2 * MOST_DELAY_NANOS));
            close();
            for (Call<Void> other : others) {
                assertAllowed(outcome(other), false);
            }
            Exception outcome = outcome(call);
            assertAllowed(outcome, events.contains(Event.INTERRUPT) && kind == ThreadKind.VIRTUAL);
            if (outcome != null && "Closed by interrupt".equals(outcome.getMessage())) {
                assertTrue(call.interruptedAtEnd(), "the interrupt status stays set");
            }
        } finally {
            close();
        }
    }

    private void prepare() throws IOException {
        listener = keep(fixture.newServerSocket());
        if (operation == Operation.LINGER_CLOSE) {
            listener.setReceiveBufferSize(SMALL_BUFFER);
        }
        listener.bind(new InetSocketAddress(fixture.address(), 0));
        destination = new InetSocketAddress(fixture.address(), listener.getLocalPort());
        int timeout = events.contains(Event.TIMEOUT) ? random.nextInt(MOST_TIMEOUT_MILLIS) + 1 : 0;
        if (operation == Operation.ACCEPT) {
            listener.setSoTimeout(timeout);
            return;
        }
        victim = keep(fixture.newSocket());
        if (operation == Operation.CONNECT) {
            chooseDestination();
            return;
        }
        victim.connect(destination);
        peer = keep(listener.accept());
        if (operation != Operation.LINGER_CLOSE && random.nextBoolean()) {
            Socket accepted = peer;
            peer = victim;
            victim = accepted;
        }
        victim.setSoTimeout(timeout);
    }

    /** Chooses a destination that listens, one that refuses, or one that does not answer. */
    private void chooseDestination() throws IOException {
        switch (random.nextInt(3)) {
            case 0 -> listener.close();
            case 1 -> destination = silent == null ? destination : silent;
            default -> {
            }
        }
    }

    private <C extends AutoCloseable> C keep(C resource) {
        opened.push(resource);
        return resource;
    }

    private Call<?> begin() throws IOException {
        int timeout = events.contains(Event.TIMEOUT) ? random.nextInt(MOST_TIMEOUT_MILLIS) + 1 : 0;
        long delay = delayNanos();
        return Call.run(kind, "interleaved " + operation, () -> {
            LockSupport.parkNanos(delay);
            switch (operation) {
                case ACCEPT -> keep(listener.accept());
                case CONNECT -> victim.connect(destination, timeout);
                case READ -> victim.getInputStream().read();
                case WRITE -> victim.getOutputStream().write(TOO_MUCH);
                case LINGER_CLOSE -> {
                    victim.setSoLinger(true, 1);
                    victim.getOutputStream().write(new byte[LINGERING_BYTES]);
                    victim.close();
                }
            }
        });
    }

    /** None, or a little. */
    private long delayNanos() {
        return random.nextInt(3) == 0 ? 0 : random.nextLong(MOST_DELAY_NANOS);
    }

    private Call<Void> start(Event event, Call<?> call) {
        long delay = delayNanos();
        int choice = random.nextInt(4);
        return Call.run(oneOf(ThreadKind.values()), "interleaved " + event, () -> {
            LockSupport.parkNanos(delay);
            switch (event) {
                case CLOSE -> closeVictim();
                case INTERRUPT -> call.interrupt();
                case TIMEOUT -> readToo();
                case SHUTDOWN -> shutDown(choice);
                case PEER -> actAsPeer(choice);
            }
        });
    }

    private void closeVictim() throws IOException {
        if (operation == Operation.ACCEPT) {
            listener.close();
        } else {
            victim.close();
        }
    }

    /** A timeout of a read shall not harm a write. */
    private void readToo() throws IOException {
        if (operation == Operation.WRITE) {
            victim.getInputStream().read();
        }
    }

    private void shutDown(int choice) throws IOException {
        Socket socket = peer == null || choice < 2 ? victim : peer;
        if (socket == null) {
            return;
        }
        if (choice % 2 == 0) {
            socket.shutdownInput();
        } else {
            socket.shutdownOutput();
        }
    }

    private void actAsPeer(int choice) throws IOException {
        if (operation == Operation.ACCEPT) {
            keep(fixture.newSocket()).connect(destination, PATIENCE_MILLIS);
        } else if (peer != null) {
            switch (choice) {
                case 0 -> peer.close();
                case 1 -> {
                    peer.setSoLinger(true, 0);
                    peer.close();
                }
                case 2 -> peer.getOutputStream().write(1);
                default -> peer.getInputStream().read(new byte[LINGERING_BYTES]);
            }
        }
    }

    /** Nothing but a timeout has happened: the operation says so, and everything still works. */
    private void checkTimeout(Call<?> call) throws Exception {
        switch (operation) {
            case READ -> {
                call.failure(SocketTimeoutException.class);
                victim.setSoTimeout(0);
                peer.getOutputStream().write(5);
                assertEquals(5, victim.getInputStream().read());
            }
            case ACCEPT -> {
                call.failure(SocketTimeoutException.class);
                listener.setSoTimeout(0);
                Socket client = keep(fixture.newSocket());
                client.connect(destination);
                assertEquals(client.getLocalPort(), keep(listener.accept()).getPort());
            }
            case WRITE -> assertFalse(victim.isClosed());
            default -> {
            }
        }
    }

    /** The peer first, because a close that lingers may hold up another one. */
    private void close() throws Exception {
        if (operation == Operation.LINGER_CLOSE && peer != null) {
            peer.close();
        }
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    /** The exception that a call threw, null for none; errors go on. */
    private static Exception outcome(Call<?> call) {
        try {
            call.result();
            return null;
        } catch (Exception e) {
            return e;
        }
    }

    private void assertAllowed(Exception e, boolean interruptible) {
        if (e != null && !isAllowed(e, interruptible)) {
            throw new AssertionError("an exception that is not to be expected: " + e, e);
        }
    }

    private boolean isAllowed(Exception e, boolean interruptible) {
        String text = String.valueOf(e.getMessage());
        return switch (e) {
            case SocketTimeoutException timeout -> events.contains(Event.TIMEOUT)
                    && (text.endsWith(" timed out") || isPlain() && e.getMessage() == null);
            case ConnectException refused -> text.startsWith("Connection ");
            case SocketException other -> ENDS.contains(text) || text.equals("Closed by interrupt") && interruptible
                    || text.startsWith("Socket is not connected") || text.matches("Socket (in|out)put is.* shutdown");
            default -> false;
        };
    }

    /** The JDK has no text for a timeout of a connect that is over before the first packet. */
    private boolean isPlain() {
        return operation == Operation.CONNECT && fixture.getClass() == TcpFixture.class;
    }
}
