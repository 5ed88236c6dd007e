package org.rdmasockets.guard;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;

/** A thread that reads messages, and is written to only when it has parked. */
final class Reader {
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(40);

    private final Socket socket;
    private final byte[] message;
    private final Call<Void> call;
    private volatile Thread thread;
    /** Messages that were read; this thread alone writes it. */
    private volatile int read;

    /** Starts a thread that reads messages of some size, until the other end closes. */
    Reader(ThreadKind kind, Socket socket, int bytes) {
        this.socket = socket;
        message = new byte[bytes];
        call = Call.run(kind, "read messages", this::readAll);
    }

    /** Until the other end closes. */
    private void readAll() throws IOException {
        InputStream in = socket.getInputStream();
        thread = Thread.currentThread();
        for (int i = 1; in.readNBytes(message, 0, message.length) == message.length; i++) {
            read = i;
        }
    }

    /** Waits until so many messages were read and the thread has parked to read the next; allocates nothing. */
    void awaitParked(int messages) {
        long start = System.nanoTime();
        while (read != messages || !isParked()) {
            if (System.nanoTime() - start > LIMIT_NANOS) {
                throw new AssertionError("read " + read + " of " + messages + " messages and did not park: " + thread);
            }
            Thread.onSpinWait();
        }
    }

    /** Waits until so many messages were read; allocates nothing. */
    void awaitRead(int messages) {
        long start = System.nanoTime();
        while (read != messages) {
            if (System.nanoTime() - start > LIMIT_NANOS) {
                throw new AssertionError("read " + read + " of " + messages + " messages: " + thread);
            }
            Thread.onSpinWait();
        }
    }

    private boolean isParked() {
        Thread reader = thread;
        return reader != null && (reader.getState() == Thread.State.WAITING
                || reader.getState() == Thread.State.TIMED_WAITING);
    }

    /** Waits for the end of the thread. */
    void join() throws Exception {
        call.result();
    }
}
