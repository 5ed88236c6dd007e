package org.rdmasockets.far;

import java.io.EOFException;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

/** The program of the other JVM: runs each call in a thread of its own and keeps the things that calls have made. */
final class Servant {
    private static final int MOST_COLLECTIONS = 10;
    private static final int ACCEPT_MILLIS = 300_000;
    private static final Map<Long, Object> THINGS = new ConcurrentHashMap<>();
    private static final Map<Long, Running> CALLS = new ConcurrentHashMap<>();
    /** Many calls are short, so these serve again. */
    private static final Executor PLATFORM_THREADS = Executors.newCachedThreadPool(
            Thread.ofPlatform().daemon().name("call ", 0).factory());
    private static final Executor VIRTUAL_THREADS = Executors.newVirtualThreadPerTaskExecutor();
    private static final AtomicLong NUMBERS = new AtomicLong();

    private Servant() {
    }

    /**
     * Serves until the connection ends.
     *
     * @param arguments the port of this host to connect to, or the address and port to listen at for one connection
     */
    static void main(String[] arguments) throws Exception {
        Socket socket = arguments.length == 1
                ? new Socket(InetAddress.ofLiteral("127.0.0.1"), Integer.parseInt(arguments[0]))
                : accept(InetAddress.ofLiteral(arguments[0]), Integer.parseInt(arguments[1]));
        try (Line line = new Line(socket)) {
            line.receive(request -> begin(line, (Request) request));
        } catch (EOFException e) {
            System.exit(0);
        } catch (IOException e) {
            System.out.println("the line ends: " + e);
        } finally {
            System.exit(1);
        }
    }

    private static Socket accept(InetAddress address, int port) throws IOException {
        try (ServerSocket door = new ServerSocket(port, 1, address)) {
            door.setSoTimeout(ACCEPT_MILLIS);
            return door.accept();
        }
    }

    private static void begin(Line line, Request request) {
        Running running = new Running(request);
        CALLS.put(request.number(), running);
        (request.virtual() ? VIRTUAL_THREADS : PLATFORM_THREADS).execute(() -> reply(line, running.run()));
    }

    private static void reply(Line line, Reply reply) {
        CALLS.remove(reply.number());
        try {
            line.send(serialized(reply));
        } catch (IOException e) {
            System.out.println("the other JVM has gone before a call ended: " + e);
        }
    }

    /** A result that cannot be serialized is a mistake of the asker's, who is told in words. */
    private static byte[] serialized(Reply reply) throws IOException {
        try {
            return Line.serialized(reply);
        } catch (IOException e) {
            String text = (reply.failure() == null ? reply.value() : reply.failure()) + " cannot be sent: " + e;
            return Line.serialized(new Reply(reply.number(), null, new IllegalStateException(text), false, 0));
        }
    }

    /** Forgets a thing; if it is a socket and open, the collector has to find that out now, as it would have there. */
    static void forget(long number) {
        boolean open = isOpen(number);
        WeakReference<Object> forgotten = new WeakReference<>(THINGS.remove(number));
        for (int i = 0; open && forgotten.get() != null && i < MOST_COLLECTIONS; i++) {
            System.gc();
        }
    }

    private static boolean isOpen(long number) {
        return switch (THINGS.get(number)) {
            case Socket socket -> !socket.isClosed();
            case ServerSocket socket -> !socket.isClosed();
            case null, default -> false;
        };
    }

    static void interrupt(long call) {
        Running running = CALLS.get(call);
        if (running != null) {
            running.interrupt();
        }
    }

    static boolean isBlocked(long call) {
        Running running = CALLS.get(call);
        return running != null && running.isBlocked();
    }

    /** A call and its thread. */
    private static final class Running {
        private final Request request;
        /** Guarded by this; null before and after the call. */
        private Thread thread;
        /** Interrupts of the caller that arrived in time; guarded by this. */
        private int interrupts;

        Running(Request request) {
            this.request = request;
        }

        Reply run() {
            begin();
            Object value = null;
            Throwable failure = null;
            try {
                value = ask(request.question());
            } catch (Throwable e) {
                failure = e;
            }
            return end(value, failure);
        }

        @SuppressWarnings("unchecked") // the asker's types
        private <S, T, E extends Exception> Object ask(Question<S, T, E> question) throws E {
            T value = question.ask(request.thing() == 0 ? null : (S) THINGS.get(request.thing()));
            if (!request.keep()) {
                return value;
            }
            long number = NUMBERS.incrementAndGet();
            THINGS.put(number, value);
            return number;
        }

        private synchronized void begin() {
            thread = Thread.currentThread();
            if (request.interrupted() || interrupts > 0) {
                thread.interrupt();
            }
        }

        private synchronized Reply end(Object value, Throwable failure) {
            thread = null;
            return new Reply(request.number(), value, failure, Thread.interrupted(), interrupts);
        }

        synchronized void interrupt() {
            interrupts++;
            if (thread != null) {
                thread.interrupt();
            }
        }

        synchronized boolean isBlocked() {
            return thread != null && Blocked.looks(thread);
        }
    }
}
