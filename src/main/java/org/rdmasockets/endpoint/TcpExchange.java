package org.rdmasockets.endpoint;

import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.lock.NanoTimes;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.connection.InterruptibleWait;
import org.rdmasockets.internal.connection.SetupPool;

/**
 * Lets nodes tell each other what they need to connect, over plain TCP: each gets the bytes of all. A node believes
 * what it hears at the address that was named for a rank, and nothing that a caller says: it listens at its own
 * address, and calls all others, again and again while they are not there yet.
 *
 * <p>A caller says {@code "RDEX"}, its rank in 4 bytes, big-endian, and 16 random bytes. The answer is {@code "RDEX"},
 * the rank of the answering node and the length of what follows as 4 bytes each, the bytes, and an HMAC (SHA-256) of
 * call and answer, which is 0 without a secret; then, once it has heard the caller's rank itself, one byte. So each
 * node knows when it may leave. Callers from other hosts than those that were named are hung up on, and so are callers
 * that say something else.
 *
 * @since 0.1
 */
public final class TcpExchange {
    /** The most bytes that a node may tell. */
    public static final int MAX_BYTES = 1 << 16;

    private static final Log LOG = new Log(TcpExchange.class);
    private static final int MAGIC = 0x52444558;
    private static final int NONCE_BYTES = 16;
    private static final int CALL_BYTES = 2 * Integer.BYTES + NONCE_BYTES;
    private static final int HEADER_BYTES = 3 * Integer.BYTES;
    private static final String MAC = "HmacSHA256";
    private static final int MAC_BYTES = 32;
    private static final int HEARD = 1;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    /** How long a caller may take for its call, and a called node for its whole answer. */
    private static final long ANSWER_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** Most callers besides all nodes that are heard at once; for one more, the first is hung up on. */
    private static final int MOST_STRANGERS = 16;

    private final List<InetSocketAddress> nodes;
    private final int rank;
    private final Words words;
    /** Null for none. */
    private final byte[] secret;
    private final long deadlineNanos;
    /** The hosts whose addresses were named. */
    private final Set<InetAddress> hosts;
    private final SecureRandom random = new SecureRandom();
    /** The state of each node, by rank. */
    private final List<Node> others = new ArrayList<>();
    /** Callers, oldest first; guarded by itself, as {@link #calls} and {@link #over} are. */
    private final ArrayDeque<Socket> callers = new ArrayDeque<>();
    /** Sockets that call other nodes. */
    private final Set<Socket> calls = new HashSet<>();
    /** No more calls: no node is called and no caller heard. */
    private boolean over;

    /** The bytes that a node tells, and hears. Called by any thread. */
    interface Words {
        /** The bytes that it tells a node; the same each time. */
        byte[] to(int other);

        /** Takes the bytes that a node tells; called once for each, before that node hears that it was heard. */
        default void from(int other, byte[] bytes) {}
    }

    /** The state of a node. */
    private static final class Node {
        /** The bytes that it has told. */
        private final CompletableFuture<byte[]> said = new CompletableFuture<>();
        /** Done when it has heard this one. */
        private final CompletableFuture<byte[]> heard = new CompletableFuture<>();
        /** Why it could not be called the last time; null if it was. */
        private volatile Throwable failure;
    }

    private TcpExchange(List<InetSocketAddress> nodes, int rank, Words words, byte[] secret, long deadlineNanos) {
        this.nodes = nodes;
        this.rank = rank;
        this.words = words;
        this.secret = secret;
        this.deadlineNanos = deadlineNanos;
        hosts = nodes.stream().map(InetSocketAddress::getAddress).collect(Collectors.toSet());
        nodes.forEach(node -> others.add(new Node()));
        others.get(rank).said.complete(words.to(rank));
        others.get(rank).heard.complete(null);
    }

    /**
     * Tells all nodes something and learns what they tell. Any process on one of the named hosts that can reach a
     * node's address hears what it tells.
     *
     * @param nodes where each listens, by rank
     * @param rank of this one
     * @param own the bytes that this one tells, at most {@link #MAX_BYTES}
     * @param limit longest time for all of that
     * @return the bytes that each tells, by rank
     * @throws IOException {@code SocketTimeoutException} if not all are there in time, {@code BindException} if this
     *         node's address is taken, {@code InterruptedIOException} if this virtual thread was interrupted
     * @throws IllegalArgumentException if there is no such rank, two nodes have one address, or it is too much to tell
     */
    public static List<byte[]> exchange(List<InetSocketAddress> nodes, int rank, byte[] own, Duration limit)
            throws IOException {
        StackRoom.ensure();
        byte[] told = own.clone();
        return exchange(nodes, rank, other -> told, null, NanoTimes.after(limit));
    }

    /** Likewise, with something else for each, and among nodes that know a secret, null for none. */
    static List<byte[]> exchange(List<InetSocketAddress> nodes, int rank, Words words, byte[] secret,
            long deadlineNanos) throws IOException {
        if (rank < 0 || rank >= nodes.size()) {
            throw new IllegalArgumentException("there is no rank " + rank + " among " + nodes.size() + " nodes");
        }
        if (new HashSet<>(nodes).size() != nodes.size()) {
            throw new IllegalArgumentException("two nodes have the same address: " + nodes);
        }
        int length = words.to(rank).length;
        if (length > MAX_BYTES) {
            throw new IllegalArgumentException("a node tells at most " + MAX_BYTES + " bytes, not " + length);
        }
        return new TcpExchange(List.copyOf(nodes), rank, words, secret, deadlineNanos).run();
    }

    private List<byte[]> run() throws IOException {
        List<Thread> threads = new ArrayList<>();
        try (ServerSocket server = listen(nodes.get(rank))) {
            threads.add(start("accept", () -> acceptAll(server)));
            for (int other = 0; other < nodes.size(); other++) {
                int called = other;
                if (called != rank) {
                    threads.add(start("call " + called, () -> call(called)));
                }
            }
            List<byte[]> all = new ArrayList<>();
            for (int other = 0; other < nodes.size(); other++) {
                all.add(await(other, others.get(other).said, "come"));
            }
            for (int other = 0; other < nodes.size(); other++) {
                await(other, others.get(other).heard, "heard this one");
            }
            return all;
        } finally {
            synchronized (callers) {
                over = true;
                callers.forEach(TcpExchange::close);
                calls.forEach(TcpExchange::close);
            }
            threads.forEach(Thread::interrupt);
        }
    }

    private static ServerSocket listen(InetSocketAddress address) throws IOException {
        ServerSocket server = new ServerSocket();
        try {
            server.setReuseAddress(true);
            server.bind(address);
            return server;
        } catch (Throwable e) {
            server.close();
            throw e;
        }
    }

    private Thread start(String what, Runnable work) {
        Thread thread = LibraryThreads.unstarted("rdma-exchange " + rank + " " + what, work);
        thread.start();
        return thread;
    }

    private byte[] await(int other, CompletableFuture<byte[]> one, String what) throws IOException {
        if (InterruptibleWait.await(nanos -> SetupPool.completed(one, nanos), deadlineNanos) == null) {
            Throwable last = others.get(other).failure;
            SocketTimeoutException e = new SocketTimeoutException("node " + other + " has not " + what + " in time: "
                    + nodes.get(other) + (last == null ? " is silent" : ": " + last.getMessage()));
            e.initCause(last);
            throw e;
        }
        return one.resultNow();
    }

    private int millisLeft(long endNanos) throws IOException {
        long left = Math.min(endNanos - System.nanoTime(), NanoTimes.remaining(deadlineNanos));
        if (left <= 0) {
            throw new SocketTimeoutException("it says nothing, or too slowly");
        }
        return millis(left);
    }

    private static int millis(long nanos) {
        return Math.clamp(TimeUnit.NANOSECONDS.toMillis(nanos), 1, Integer.MAX_VALUE);
    }

    /** Accepts until the server is closed. A failure costs one caller. */
    private void acceptAll(ServerSocket server) {
        while (!server.isClosed()) {
            try {
                admit(server.accept());
            } catch (IOException | RuntimeException | Error e) {
                if (!server.isClosed()) {
                    LOG.debug("accept failed", e);
                    pause();
                }
            }
        }
    }

    private void admit(Socket caller) {
        boolean admitted = false;
        try {
            if (hosts.contains(caller.getInetAddress())) {
                synchronized (callers) {
                    callers.add(caller);
                    while (callers.size() > (over ? 0 : nodes.size() + MOST_STRANGERS)) {
                        close(callers.poll());
                    }
                }
                start("answer", () -> answer(caller));
                admitted = true;
            }
        } finally {
            if (!admitted) {
                leave(caller);
            }
        }
    }

    private static void close(Socket one) {
        try {
            one.close();
        } catch (IOException e) {
            LOG.debug("closing {} failed", one, e);
        }
    }

    private void leave(Socket one) {
        close(one);
        synchronized (callers) {
            callers.remove(one);
            calls.remove(one);
        }
    }

    private void answer(Socket caller) {
        try {
            ByteBuffer call = ByteBuffer.wrap(read(caller, CALL_BYTES, System.nanoTime() + ANSWER_NANOS));
            checkMagic(call);
            int claimed = call.getInt();
            if (claimed < 0 || claimed >= nodes.size() || claimed == rank) {
                throw new IOException("rank " + claimed + " calls rank " + rank);
            }
            byte[] nonce = new byte[NONCE_BYTES];
            call.get(nonce);
            byte[] bytes = words.to(claimed);
            DataOutputStream out = new DataOutputStream(caller.getOutputStream());
            out.write(ByteBuffer.allocate(HEADER_BYTES).putInt(MAGIC).putInt(rank).putInt(bytes.length).array());
            out.write(bytes);
            out.write(mac(nonce, claimed, rank, bytes));
            if (SetupPool.completed(others.get(claimed).said, NanoTimes.remaining(deadlineNanos)) != null) {
                out.write(HEARD);
            }
        } catch (IOException | InterruptedException | RuntimeException e) {
            LOG.debug("hung up on {}: {}", caller.getRemoteSocketAddress(), e.toString());
        } finally {
            leave(caller);
        }
    }

    /** Calls a node until it has answered and heard this one, or the time is over. A call that fails is tried again. */
    private void call(int other) {
        Node node = others.get(other);
        while (!node.heard.isDone() && !Thread.currentThread().isInterrupted()
                && NanoTimes.remaining(deadlineNanos) > 0) {
            Socket socket = new Socket();
            try {
                synchronized (callers) {
                    if (over) {
                        return;
                    }
                    calls.add(socket);
                }
                call(other, socket);
            } catch (ConnectException e) {
                node.failure = e;
                if (node.said.isDone()) {
                    node.heard.complete(null); // it has left: it has heard all, or has failed
                }
            } catch (IOException | RuntimeException | Error e) {
                if (node.failure == null || NanoTimes.remaining(deadlineNanos) > RETRY_NANOS) {
                    node.failure = e; // the last one may only say that no time was left
                }
            } finally {
                leave(socket);
            }
            if (!node.heard.isDone()) {
                pause();
            }
        }
    }

    private void call(int other, Socket socket) throws IOException {
        InetSocketAddress address = nodes.get(other);
        InetAddress own = nodes.get(rank).getAddress();
        if (own.getClass() == address.getAddress().getClass() && !own.isAnyLocalAddress()
                && own.isLoopbackAddress() == address.getAddress().isLoopbackAddress()) {
            socket.bind(new InetSocketAddress(own, 0)); // this host may have addresses that were not named
        }
        long end = System.nanoTime() + ANSWER_NANOS;
        socket.connect(address, millisLeft(end));
        byte[] nonce = new byte[NONCE_BYTES];
        random.nextBytes(nonce);
        socket.getOutputStream().write(ByteBuffer.allocate(CALL_BYTES).putInt(MAGIC).putInt(rank).put(nonce).array());
        ByteBuffer header = ByteBuffer.wrap(read(socket, HEADER_BYTES, end));
        checkMagic(header);
        int claimed = header.getInt();
        if (claimed != other) {
            throw new IOException("rank " + claimed + " is where rank " + other + " should be");
        }
        int length = header.getInt();
        if (length < 0 || length > MAX_BYTES) {
            throw new IOException("a node tells at most " + MAX_BYTES + " bytes, not " + length);
        }
        byte[] bytes = read(socket, length, end);
        byte[] mac = read(socket, MAC_BYTES, end);
        if (secret != null && !MessageDigest.isEqual(mac, mac(nonce, rank, other, bytes))) {
            throw new IOException("who listens there does not know the secret of the group: give all nodes the same");
        }
        Node node = others.get(other);
        if (!node.said.isDone()) {
            words.from(other, bytes);
            node.said.complete(bytes);
        }
        node.failure = null;
        socket.setSoTimeout(millis(NanoTimes.remaining(deadlineNanos)));
        if (socket.getInputStream().read() == HEARD) {
            node.heard.complete(null);
        }
    }

    private static void checkMagic(ByteBuffer said) throws IOException {
        if (said.getInt() != MAGIC) {
            throw new IOException("this is no node");
        }
    }

    /** Proves to nodes that know the secret which rank answered which call with which bytes. */
    private byte[] mac(byte[] nonce, int caller, int answering, byte[] bytes) throws IOException {
        if (secret == null) {
            return new byte[MAC_BYTES];
        }
        try {
            Mac mac = Mac.getInstance(MAC);
            mac.init(new SecretKeySpec(secret, MAC));
            mac.update("RDEX answer".getBytes(StandardCharsets.US_ASCII));
            mac.update(ByteBuffer.allocate(3 * Integer.BYTES).putInt(nodes.size()).putInt(caller).putInt(answering)
                    .array());
            mac.update(nonce);
            return mac.doFinal(bytes);
        } catch (GeneralSecurityException e) {
            throw new IOException("this JVM has no " + MAC, e);
        }
    }

    private static void pause() {
        try {
            TimeUnit.NANOSECONDS.sleep(RETRY_NANOS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Reads so many bytes of a peer that may be slow on purpose. */
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
