package org.rdmasockets.contract;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Connections whose readers are parked at both ends, on platform and virtual threads in turn. The server's end echoes;
 * of a ring the client's end passes what comes back on to the next connection, after a pause at the first.
 */
final class ParkedConnections implements AutoCloseable {
    static final int COUNT = 50;
    private static final int TO_PASS = 1;
    private static final int TO_COUNT = 2;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final List<Socket> clients = new ArrayList<>();
    private final List<Socket> servers = new ArrayList<>();
    private final Semaphore answers = new Semaphore(0);
    private final AtomicInteger passed = new AtomicInteger();
    private final boolean ring;
    private volatile boolean ending;

    ParkedConnections(SocketFixture fixture, boolean ring) throws IOException {
        this.ring = ring;
        boolean done = false;
        try (ServerSocket listener = fixture.newServerSocket()) {
            listener.bind(new InetSocketAddress(fixture.address(), 0));
            InetSocketAddress address = new InetSocketAddress(fixture.address(), listener.getLocalPort());
            for (int i = 0; i < Math.min(COUNT, fixture.manyConnections()); i++) {
                Socket client = fixture.newSocket();
                clients.add(client);
                client.connect(address, 20_000);
                servers.add(listener.accept());
            }
            for (int i = 0; i < clients.size(); i++) {
                int index = i;
                kind(i).start("bystander-echo-" + i, () -> echo(servers.get(index)));
                kind(i / 2).start("bystander-" + i, () -> take(index));
            }
            if (ring) {
                clients.getFirst().getOutputStream().write(TO_PASS);
            }
            done = true;
        } finally {
            if (!done) {
                close();
            }
        }
    }

    private static ThreadKind kind(int number) {
        return ThreadKind.values()[number % ThreadKind.values().length];
    }

    /** How often a connection has woken the next one. */
    int passed() {
        return passed.get();
    }

    private static void echo(Socket socket) {
        try {
            for (int one = socket.getInputStream().read(); one >= 0; one = socket.getInputStream().read()) {
                socket.getOutputStream().write(one);
            }
        } catch (IOException e) {
            return; // closed at the end; checkAnswers tells of one that ends before
        }
    }

    private void take(int index) {
        Socket socket = clients.get(index);
        try {
            for (int one = socket.getInputStream().read(); one >= 0; one = socket.getInputStream().read()) {
                if (one == TO_COUNT) {
                    answers.release();
                } else if (!ending) {
                    pass(index);
                }
            }
        } catch (IOException e) {
            return; // as above
        }
    }

    private void pass(int index) throws IOException {
        if (index == 0) {
            LockSupport.parkNanos(PAUSE_NANOS); // now and then, not all the time
        }
        passed.incrementAndGet();
        Socket next = clients.get((index + 1) % clients.size());
        synchronized (next) {
            next.getOutputStream().write(TO_PASS);
        }
    }

    /** Each connection answers yet, and a ring has gone on. */
    void checkAnswers() throws Exception {
        int before = passed.get();
        if (ring) {
            Await.until("the ring of bystanders goes on", () -> passed.get() > before);
        }
        for (Socket client : clients) {
            synchronized (client) {
                client.getOutputStream().write(TO_COUNT);
            }
        }
        if (!answers.tryAcquire(clients.size(), Await.LIMIT_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError(answers.availablePermits() + " of " + clients.size() + " bystanders answer");
        }
    }

    @Override
    public void close() throws IOException {
        ending = true;
        for (Socket client : clients) {
            client.close();
        }
        for (Socket server : servers) {
            server.close();
        }
    }
}
