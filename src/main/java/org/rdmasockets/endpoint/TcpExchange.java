package org.rdmasockets.endpoint;

import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.rdmasockets.transport.Patience;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets nodes tell each other what they need to connect, over plain TCP: each gets the bytes of all. A node waits for
 * those of higher rank and calls those of lower rank, again and again while they are not there yet.
 *
 * <p>What goes each way: {@code "RDEX"}, the sender's rank and the length of what follows as 4 bytes each, big-endian,
 * and the bytes. A caller that says something else is hung up on, and harms nobody.
 */
public final class TcpExchange {
    /** The most that a node may have to say. */
    public static final int MAX_BYTES = 1 << 16;

    private static final Logger LOG = LoggerFactory.getLogger(TcpExchange.class);
    private static final int MAGIC = 0x52444558;
    private static final int HEADER_BYTES = 3 * Integer.BYTES;
    private static final int RETRY_MILLIS = 50;
    /** How long somebody who has called, or answers, may take for all that he has to say. */
    private static final long ANSWER_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** So many callers besides all nodes are heard at once; then the first of them is hung up on. */
    private static final int MOST_STRANGERS = 16;

    private final int rank;
    private final byte[] own;
    private final long deadlineNanos;
    /** What each has said. */
    private final List<CompletableFuture<byte[]>> said = new ArrayList<>();
    /** Who is being heard; guarded by itself. */
    private final ArrayDeque<Socket> callers = new ArrayDeque<>();

    private record Said(int rank, byte[] bytes) {
    }

    private TcpExchange(int size, int rank, byte[] own, long deadlineNanos) {
        this.rank = rank;
        this.own = own.clone();
        this.deadlineNanos = deadlineNanos;
        for (int i = 0; i < size; i++) {
            said.add(new CompletableFuture<>());
        }
        said.get(rank).complete(this.own);
    }

    /**
     * Tells all nodes something and learns what they tell.
     *
     * @param nodes where each listens, by rank
     * @param rank of this one
     * @param own what this one tells, at most {@link #MAX_BYTES} bytes
     * @param limit longest time for all of that
     * @return what each tells, by rank
     * @throws IOException {@code SocketTimeoutException} if not all are there in time, {@code BindException} if this
     *         node's address is taken, {@code InterruptedIOException} if this virtual thread was interrupted
     * @throws IllegalArgumentException if there is no such rank, two nodes have one address, or it is too much to tell
     */
    public static List<byte[]> exchange(List<InetSocketAddress> nodes, int rank, byte[] own, Duration limit)
            throws IOException {
        if (rank < 0 || rank >= nodes.size()) {
            throw new IllegalArgumentException("there is no rank " + rank + " among " + nodes.size() + " nodes");
        }
        if (new HashSet<>(nodes).size() != nodes.size()) {
            throw new IllegalArgumentException("two nodes have the same address: " + nodes);
        }
        if (own.length > MAX_BYTES) {
            throw new IllegalArgumentException("a node tells at most " + MAX_BYTES + " bytes, not " + own.length);
        }
        return new TcpExchange(nodes.size(), rank, own, Deadlines.after(limit)).run(nodes);
    }

    private List<byte[]> run(List<InetSocketAddress> nodes) throws IOException {
        boolean last = rank == nodes.size() - 1;
        List<Thread> threads = new ArrayList<>();
        try (ServerSocket server = last ? null : listen(nodes.get(rank))) {
            if (server != null) {
                threads.add(start("accept", () -> acceptAll(server)));
            }
            for (int other = 0; other < rank; other++) {
                int lower = other;
                threads.add(start("call " + other, () -> call(nodes.get(lower), lower)));
            }
            List<byte[]> all = new ArrayList<>();
            for (int other = 0; other < nodes.size(); other++) {
                all.add(await(other));
            }
            return all;
        } finally {
            threads.forEach(Thread::interrupt);
            hangUp(0);
        }
    }

    private static ServerSocket listen(InetSocketAddress address) throws IOException {
        ServerSocket server = new ServerSocket();
        boolean bound = false;
        try {
            server.setReuseAddress(true);
            server.bind(address);
            bound = true;
            return server;
        } finally {
            if (!bound) {
                server.close();
            }
        }
    }

    private Thread start(String what, Runnable work) {
        return Thread.ofVirtual().name("rdma-exchange " + rank + " " + what).start(work);
    }

    private byte[] await(int other) throws IOException {
        CompletableFuture<byte[]> one = said.get(other);
        if (Patience.await(nanos -> isDone(one, nanos), deadlineNanos) == null) {
            throw new SocketTimeoutException("node " + other + " has not come in time");
        }
        return one.resultNow();
    }

    private static Boolean isDone(CompletableFuture<byte[]> one, long nanos) throws InterruptedException {
        try {
            one.get(nanos, TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException e) {
            return null;
        } catch (ExecutionException e) {
            throw new AssertionError(e); // nobody completes it so
        }
    }

    private int millisLeft(long endNanos) throws IOException {
        long left = Math.min(endNanos - System.nanoTime(), Patience.remaining(deadlineNanos));
        if (left <= 0) {
            throw new SocketTimeoutException("the exchange is over");
        }
        return (int) Math.max(1, TimeUnit.NANOSECONDS.toMillis(left));
    }

    /** Until the server is closed. */
    private void acceptAll(ServerSocket server) {
        while (!server.isClosed()) {
            try {
                Socket caller = server.accept();
                synchronized (callers) {
                    callers.add(caller);
                }
                start("answer", () -> answer(caller));
                hangUp(server.isClosed() ? 0 : said.size() + MOST_STRANGERS);
            } catch (IOException e) {
                if (server.isClosed() || Thread.currentThread().isInterrupted()) {
                    return;
                }
                LOG.debug("accept failed", e);
                pause();
            }
        }
    }

    /** Leaves so many callers, the last of them. */
    private void hangUp(int most) {
        synchronized (callers) {
            while (callers.size() > most) {
                close(callers.poll());
            }
        }
    }

    private static void close(Socket caller) {
        try {
            caller.close();
        } catch (IOException e) {
            LOG.debug("closing {} failed", caller, e);
        }
    }

    private void answer(Socket caller) {
        try (caller) {
            Said heard = hear(caller);
            if (heard.rank <= rank) {
                throw new IOException("rank " + heard.rank + " calls rank " + rank);
            }
            tell(caller);
            said.get(heard.rank).complete(heard.bytes);
        } catch (IOException e) {
            LOG.debug("hung up on {}: {}", caller.getRemoteSocketAddress(), e.toString());
        } finally {
            synchronized (callers) {
                callers.remove(caller);
            }
        }
    }

    /** Until it has answered, or the time is over. */
    private void call(InetSocketAddress node, int lower) {
        while (!said.get(lower).isDone() && !Thread.currentThread().isInterrupted()
                && deadlineNanos - System.nanoTime() > 0) {
            try (Socket socket = new Socket()) {
                socket.connect(node, millisLeft(System.nanoTime() + ANSWER_NANOS));
                tell(socket);
                Said heard = hear(socket);
                if (heard.rank != lower) {
                    throw new IOException("rank " + heard.rank + " is where rank " + lower + " should be");
                }
                said.get(lower).complete(heard.bytes);
            } catch (IOException e) {
                LOG.debug("{}: {}", node, e.toString());
                pause();
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(RETRY_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void tell(Socket socket) throws IOException {
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        out.writeInt(MAGIC);
        out.writeInt(rank);
        out.writeInt(own.length);
        out.write(own);
        out.flush();
    }

    /** Hears somebody out, who may be slow on purpose. */
    private Said hear(Socket socket) throws IOException {
        long end = System.nanoTime() + ANSWER_NANOS;
        ByteBuffer header = ByteBuffer.wrap(read(socket, HEADER_BYTES, end));
        if (header.getInt() != MAGIC) {
            throw new IOException("this is no node");
        }
        int claimed = header.getInt();
        if (claimed < 0 || claimed >= said.size()) {
            throw new IOException("there is no rank " + claimed);
        }
        int length = header.getInt();
        if (length < 0 || length > MAX_BYTES) {
            throw new IOException("a node tells at most " + MAX_BYTES + " bytes, not " + length);
        }
        return new Said(claimed, read(socket, length, end));
    }

    private byte[] read(Socket socket, int length, long endNanos) throws IOException {
        byte[] bytes = new byte[length];
        int have = 0;
        while (have < length) {
            socket.setSoTimeout(millisLeft(endNanos));
            int more = socket.getInputStream().read(bytes, have, length - have);
            if (more < 0) {
                throw new EOFException("it says " + have + " bytes of " + length);
            }
            have += more;
        }
        return bytes;
    }
}
