package org.rdmasockets.rpc.session;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.rdmasockets.rpc.call.Carrier;
import org.rdmasockets.rpc.call.Frame;

/**
 * All sessions of one UDP socket: a server's, or the one of a client. One virtual thread reads for all, another sees to
 * deadlines; senders send for themselves. Whoever is not known costs nothing but the look at his packet.
 */
public final class SessionHub {
    private static final int PAYLOAD = 1400;
    private static final int COOKIE_BYTES = 40;
    private static final long COOKIE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** A session that no client has shown it knows ends after so long. */
    private static final long UNCONFIRMED_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final int MAX_UNCONFIRMED = 1024;
    private static final int MAX_SESSIONS = 8192;
    private static final int WAITING_BYTES = 64 << 10;
    private static final long QUEUED_BYTES = 256 << 10;
    private static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final long LEAST_PARK = 200_000;

    /** No channel: that would be closed by an interrupt of any thread that sends. */
    private final DatagramSocket socket;
    private final boolean server;
    private final int maxMessage;
    private final SecureRandom random = new SecureRandom();
    private final Mac mac;
    private final ReentrantLock lock = new ReentrantLock();
    /** Everything below is guarded by lock. */
    private final Map<Long, SessionCarrier> sessions = new HashMap<>();
    private final Map<Origin, SessionCarrier> origins = new HashMap<>();
    private final ArrayDeque<SessionCarrier> accepted = new ArrayDeque<>();
    private final Condition arrivals = lock.newCondition();
    private final Packet in = new Packet();
    private final Packet reply = new Packet();
    private final ByteBuffer out = ByteBuffer.allocate(Packet.HEADER_BYTES + PAYLOAD);
    private int unconfirmed;
    private boolean listening;
    private boolean closed;
    private long dropped;
    /** When the timer looks next; written under lock. */
    private volatile long wakeAt = Long.MAX_VALUE;
    private final Thread timer;

    private record Origin(InetSocketAddress address, long client) {
    }

    private SessionHub(DatagramSocket socket, boolean server, int maxMessage) throws IOException {
        this.socket = socket;
        this.server = server;
        this.maxMessage = maxMessage + Frame.MAX_OVERHEAD;
        listening = server;
        try {
            mac = Mac.getInstance("HmacSHA256");
            byte[] secret = new byte[32];
            random.nextBytes(secret);
            mac.init(new SecretKeySpec(secret, "HmacSHA256"));
        } catch (GeneralSecurityException e) {
            throw new IOException("no HMAC-SHA256 in this JVM", e);
        }
        timer = Thread.ofVirtual().name("rdma-rpc-session-timer").unstarted(this::time);
    }

    /**
     * Listens.
     *
     * @param local address and port, 0 for any
     * @param maxMessage the longest message of a call that comes in
     * @return the listener
     * @throws IOException if the port is taken
     */
    public static Carrier.Listener listen(InetSocketAddress local, int maxMessage) throws IOException {
        SessionHub hub = new SessionHub(new DatagramSocket(local), true, maxMessage);
        InetSocketAddress bound = (InetSocketAddress) hub.socket.getLocalSocketAddress();
        hub.start();
        return new Carrier.Listener() {
            @Override
            public Carrier accept() throws IOException {
                return hub.accept();
            }

            @Override
            public InetSocketAddress localAddress() {
                return bound;
            }

            @Override
            public void close() {
                hub.stopListening();
            }
        };
    }

    /**
     * Connects.
     *
     * @param to the server
     * @param maxMessage the longest message of a call that comes back
     * @param limitNanos how long it may take
     * @return the connection
     * @throws IOException {@code ConnectException} if no server answers
     */
    public static Carrier connect(InetSocketAddress to, int maxMessage, long limitNanos) throws IOException {
        SessionHub hub = new SessionHub(new DatagramSocket(), false, maxMessage);
        boolean connected = false;
        try {
            SessionCarrier carrier = hub.greet(to, System.nanoTime() + Math.min(limitNanos, STALL_NANOS));
            hub.start();
            connected = true;
            return carrier;
        } finally {
            if (!connected) {
                hub.socket.close();
            }
        }
    }

    private void start() {
        timer.start();
        Thread.ofVirtual().name("rdma-rpc-session-reader").start(this::read);
    }

    // A client's handshake, before any other thread knows of it.

    private SessionCarrier greet(InetSocketAddress to, long deadlineNanos) throws IOException {
        long own = random.nextLong();
        byte[] cookie = new byte[COOKIE_BYTES];
        int kind = Packet.INIT;
        long waitMillis = 20;
        ByteBuffer buffer = ByteBuffer.allocate(Packet.HEADER_BYTES + PAYLOAD);
        while (true) {
            answer(kind, 0, own, cookie, to);
            socket.setSoTimeout((int) Math.max(1, Math.min(waitMillis,
                    TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime()))));
            long heard = System.nanoTime();
            while (hear(buffer, to) && in.receiver == own) {
                if (in.kind == Packet.COOKIE && kind == Packet.INIT && in.payload.remaining() == COOKIE_BYTES) {
                    in.payload.get(cookie);
                    kind = Packet.OPEN;
                    break;
                }
                if (in.kind == Packet.OPENED && kind == Packet.OPEN) {
                    socket.setSoTimeout(0);
                    Session session = new Session(own, in.sender, PAYLOAD, maxMessage, WAITING_BYTES,
                            System.nanoTime());
                    SessionCarrier carrier = new SessionCarrier(session, to, null);
                    sessions.put(own, carrier);
                    return carrier;
                }
            }
            if (System.nanoTime() - heard >= TimeUnit.MILLISECONDS.toNanos(waitMillis)) {
                waitMillis = Math.min(2 * waitMillis, 1000);
            }
            if (deadlineNanos - System.nanoTime() <= 0) {
                throw new ConnectException("no server of calls answers at " + to + " over UDP");
            }
        }
    }

    /** Waits for a packet of the server, as long as the socket's timeout says; false if none has come. */
    private boolean hear(ByteBuffer buffer, InetSocketAddress from) throws IOException {
        DatagramPacket packet = new DatagramPacket(buffer.array(), buffer.capacity());
        try {
            socket.receive(packet);
        } catch (SocketTimeoutException e) {
            return false;
        }
        return packet.getPort() == from.getPort() && in.read(buffer.clear().limit(packet.getLength()));
    }

    // What comes in.

    private void read() {
        ByteBuffer buffer = ByteBuffer.allocate(Packet.HEADER_BYTES + PAYLOAD);
        DatagramPacket packet = new DatagramPacket(buffer.array(), buffer.capacity());
        while (true) {
            try {
                packet.setLength(buffer.capacity());
                socket.receive(packet);
                buffer.clear().limit(packet.getLength());
                lock.lock();
                try {
                    receive(buffer, (InetSocketAddress) packet.getSocketAddress(), System.nanoTime());
                } finally {
                    lock.unlock();
                }
            } catch (IOException | RuntimeException | Error e) {
                if (socket.isClosed()) {
                    break;
                }
                LockSupport.parkNanos(LEAST_PARK); // what fails at once would fail for ever
            }
        }
        lock.lock();
        try {
            closed = true;
            sessions.values().forEach(one -> one.session.fail("the socket is closed"));
            sessions.values().forEach(SessionCarrier::signal);
            arrivals.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void receive(ByteBuffer buffer, InetSocketAddress from, long now) {
        if (!in.read(buffer)) {
            dropped++;
            return;
        }
        if (in.kind < Packet.DATA) {
            if (server) {
                handshake(from, now);
            }
            return;
        }
        SessionCarrier carrier = sessions.get(in.receiver);
        if (carrier == null || carrier.session.peer() != in.sender || !carrier.address.equals(from)) {
            dropped++;
            if (carrier == null && (in.kind == Packet.DATA || in.kind == Packet.PING)) {
                answerStranger(Packet.RESET, in.sender, in.receiver, new byte[0], from);
            }
            return;
        }
        try {
            carrier.session.receive(in, now);
        } catch (Error e) {
            carrier.session.fail("a packet could not be taken in: " + e); // half of it may be
        }
        if (carrier.origin != null && !carrier.confirmed && in.kind != Packet.RESET) {
            carrier.confirmed = true;
            unconfirmed--;
            accepted.add(carrier);
            arrivals.signal();
        }
        carrier.pump(now);
        carrier.signal();
    }

    private void handshake(InetSocketAddress from, long now) {
        if (!listening || in.payload.remaining() != COOKIE_BYTES) {
            dropped++;
            return;
        }
        long client = in.sender;
        if (in.kind == Packet.INIT) {
            answerStranger(Packet.COOKIE, client, 0, cookie(from, client, now), from);
            return;
        }
        byte[] shown = new byte[COOKIE_BYTES];
        in.payload.get(shown);
        long time = ByteBuffer.wrap(shown).getLong();
        if (in.kind != Packet.OPEN || now - time < 0 || now - time > COOKIE_NANOS
                || !MessageDigest.isEqual(shown, cookie(from, client, time))) {
            dropped++;
            return;
        }
        Origin origin = new Origin(from, client);
        SessionCarrier carrier = origins.get(origin);
        if (carrier == null) {
            if (unconfirmed >= MAX_UNCONFIRMED || sessions.size() >= MAX_SESSIONS) {
                dropped++;
                return;
            }
            long own = random.nextLong();
            while (sessions.containsKey(own)) {
                own = random.nextLong();
            }
            carrier = new SessionCarrier(new Session(own, client, PAYLOAD, maxMessage, WAITING_BYTES, now), from,
                    origin);
            carrier.endsAt = now + UNCONFIRMED_NANOS;
            unconfirmed++;
            sessions.put(own, carrier);
            origins.put(origin, carrier);
            wake(carrier.endsAt);
        }
        answerStranger(Packet.OPENED, client, carrier.session.own(), new byte[0], from);
    }

    /** The time, and what only this hub can make of address, client and time. */
    private byte[] cookie(InetSocketAddress from, long client, long time) {
        byte[] address = from.getAddress().getAddress();
        mac.update(ByteBuffer.allocate(address.length + 20).put(address).putInt(from.getPort()).putLong(client)
                .putLong(time).flip());
        return ByteBuffer.allocate(COOKIE_BYTES).putLong(time).put(mac.doFinal()).array();
    }

    /** A packet that nobody could answer costs no more than that: its sender may have chosen it so. */
    private void answerStranger(int kind, long receiver, long sender, byte[] payload, InetSocketAddress to) {
        try {
            answer(kind, receiver, sender, payload, to);
        } catch (IOException | RuntimeException e) {
            dropped++;
        }
    }

    private void answer(int kind, long receiver, long sender, byte[] payload, InetSocketAddress to) throws IOException {
        reply.kind = kind;
        reply.receiver = receiver;
        reply.sender = sender;
        reply.write(out, payload, 0, payload.length);
        transmit(to);
    }

    private void transmit(InetSocketAddress to) throws IOException {
        socket.send(new DatagramPacket(out.array(), out.limit(), to));
    }

    // Deadlines.

    private void time() {
        while (!socket.isClosed()) {
            long next = Long.MAX_VALUE;
            lock.lock();
            try {
                long now = System.nanoTime();
                for (SessionCarrier carrier : new ArrayList<>(sessions.values())) {
                    if (carrier.deadline() - now <= 0) {
                        carrier.pump(now);
                        carrier.signal();
                    }
                    next = Math.min(next, carrier.deadline());
                }
                wakeAt = next;
            } catch (RuntimeException | Error e) {
                next = System.nanoTime() + LEAST_PARK; // no memory, perhaps: again
                wakeAt = next;
            } finally {
                lock.unlock();
            }
            if (next == Long.MAX_VALUE) {
                LockSupport.park(this);
            } else {
                LockSupport.parkNanos(this, Math.max(LEAST_PARK, next - System.nanoTime()));
            }
        }
    }

    private void wake(long at) {
        if (at < wakeAt) {
            wakeAt = at;
            LockSupport.unpark(timer);
        }
    }

    // A server's listener.

    private Carrier accept() throws IOException {
        lock.lock();
        try {
            while (accepted.isEmpty()) {
                if (!listening || closed) {
                    throw new IOException("the listener is closed");
                }
                arrivals.await();
            }
            return accepted.poll();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        } finally {
            lock.unlock();
        }
    }

    private void stopListening() {
        lock.lock();
        try {
            listening = false;
            arrivals.signalAll();
            closeIfUnused();
        } finally {
            lock.unlock();
        }
    }

    private void closeIfUnused() {
        if (!listening && sessions.isEmpty()) {
            closed = true;
            socket.close();
            LockSupport.unpark(timer);
        }
    }

    /** One session, as calls see it. */
    private final class SessionCarrier implements Carrier {
        private final Session session;
        private final InetSocketAddress address;
        /** Where a server's session came from, null at a client. */
        private final Origin origin;
        private final Condition news = lock.newCondition();
        private boolean confirmed;
        private boolean closing;
        /** When it is removed whatever has come, MAX_VALUE for never. */
        private long endsAt = Long.MAX_VALUE;

        SessionCarrier(Session session, InetSocketAddress address, Origin origin) {
            this.session = session;
            this.address = address;
            this.origin = origin;
        }

        private long deadline() {
            return Math.min(confirmed || origin == null ? session.deadline() : Long.MAX_VALUE, endsAt);
        }

        /** Sends what is to be sent now; lock held. */
        private void pump(long now) {
            while (session.next(out, now)) {
                try {
                    transmit(address);
                } catch (IOException e) {
                    dropped++; // as if the network had lost it
                }
            }
            boolean over = session.failure() != null || endsAt != Long.MAX_VALUE && !(confirmed && !closing)
                    && (endsAt - now <= 0 || closing && session.isSettled());
            if (over && sessions.remove(session.own()) != null) {
                if (origin != null) {
                    origins.remove(origin);
                    unconfirmed -= confirmed ? 0 : 1;
                }
                session.fail(closing ? "this end is closed" : "no client has confirmed it");
                endsAt = Long.MAX_VALUE;
                closeIfUnused();
            } else {
                if (confirmed && !closing) {
                    endsAt = Long.MAX_VALUE;
                }
                wake(deadline());
            }
        }

        private void signal() {
            news.signalAll();
        }

        private void await(long untilNanos) throws IOException {
            try {
                if (untilNanos == Long.MAX_VALUE) {
                    news.await();
                } else {
                    long left = untilNanos - System.nanoTime();
                    if (left <= 0) {
                        throw new SocketTimeoutException("nothing has come in time");
                    }
                    news.awaitNanos(left);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted");
            }
        }

        @Override
        public void send(Frame frame) throws IOException {
            byte[] message = new byte[frame.size()];
            frame.encode(ByteBuffer.wrap(message));
            long deadline = Long.MAX_VALUE;
            lock.lock();
            try {
                while (session.queuedBytes() > QUEUED_BYTES && session.failure() == null && !closing) {
                    deadline = deadline == Long.MAX_VALUE ? System.nanoTime() + STALL_NANOS : deadline;
                    await(deadline);
                }
                ensureOpen();
                session.send(message);
                pump(System.nanoTime());
            } finally {
                lock.unlock();
            }
        }

        private void ensureOpen() throws IOException {
            if (session.failure() != null || closing) {
                throw new IOException(session.failure() == null ? "this end is closed" : session.failure());
            }
        }

        @Override
        public Frame receive(long deadlineNanos) throws IOException {
            byte[] message;
            lock.lock();
            try {
                message = session.poll();
                while (message == null) {
                    ensureOpen();
                    if (session.hasPeerEnded()) {
                        throw new EOFException("the peer has closed its end");
                    }
                    await(deadlineNanos);
                    message = session.poll();
                }
                if (session.deadline() == Long.MIN_VALUE) {
                    pump(System.nanoTime()); // there is room again
                }
            } finally {
                lock.unlock();
            }
            return Frame.decode(ByteBuffer.wrap(message));
        }

        @Override
        public String transport() {
            return "udp";
        }

        @Override
        public InetSocketAddress localAddress() {
            return (InetSocketAddress) socket.getLocalSocketAddress();
        }

        @Override
        public InetSocketAddress remoteAddress() {
            return address;
        }

        @Override
        public void close() {
            lock.lock();
            try {
                if (!closing) {
                    closing = true;
                    session.end();
                    endsAt = System.nanoTime() + LINGER_NANOS;
                    pump(System.nanoTime());
                    signal();
                }
            } finally {
                lock.unlock();
            }
        }
    }
}
