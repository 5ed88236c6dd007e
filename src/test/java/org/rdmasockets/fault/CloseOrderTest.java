package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.waiting.CompletionInbox;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;

/**
 * A thread that closes a socket has done everything else when it wakes the waiters there: a program that closes it
 * to end a write, and marks that as done, has marked it before the write ends, as over TCP.
 */
class CloseOrderTest {
    /** Looks in a row that must find a thread parked in its wait for the connection. */
    private static final int PARKED_LOOKS = 40;

    private final WatchedVerbs verbs = new WatchedVerbs(new SharedMemoryProvider(), event -> true);
    private final CountDownLatch closing = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);
    private Replacement replacement;
    private volatile Thread closer;
    private volatile Thread waiter;
    private int looks;

    @BeforeEach
    void replace() {
        replacement = new Replacement(verbs.provider());
    }

    @AfterEach
    void putBack() {
        goOn.countDown();
        replacement.close();
    }

    @ParameterizedTest
    @CsvSource({"VIRTUAL,true,postSend", "VIRTUAL,false,postSend", "PLATFORM,true,postSend", "PLATFORM,false,postSend",
        "VIRTUAL,true,close", "PLATFORM,false,close"})
    void whoeverWaitsSleepsUntilTheCloseIsDone(ThreadKind kind, boolean writes, String held) throws Exception {
        try (RdmaServerSocket listener = new RdmaServerSocket(); RdmaSocket client = new RdmaSocket()) {
            listener.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY)
                    .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0));
            client.setOption(RdmaSocketOptions.TRANSPORT, Transport.SHARED_MEMORY)
                    .connect(listener.getLocalSocketAddress());
            RdmaSocket server = listener.accept();
            Call<Void> wait = Call.run(kind, "read or write", () -> {
                waiter = Thread.currentThread();
                if (writes) {
                    client.getOutputStream().write(new byte[1 << 25]);
                } else {
                    client.getInputStream().read();
                }
            }).awaitBlocked();
            verbs.beforeCall(call -> {
                if (call.equals(held)) {
                    hold();
                }
            });
            Call<Void> close = Call.run(kind, "close", () -> close(client));
            assertTrue(closing.await(30, TimeUnit.SECONDS), "close has not come to " + held);
            Await.until("the thread sleeps on while close is at work", this::staysParked);
            goOn.countDown();
            close.result();
            assertEquals("Socket closed", wait.failure(SocketException.class).getMessage());
            server.close();
        }
    }

    private void close(RdmaSocket client) throws IOException {
        closer = Thread.currentThread();
        client.close();
    }

    private void hold() {
        if (Thread.currentThread() == closer) {
            closing.countDown();
            try {
                assertTrue(goOn.await(60, TimeUnit.SECONDS), "close was held for too long");
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    /** In its wait, not already at the lock that the closing thread has. */
    private boolean staysParked() {
        looks = LockSupport.getBlocker(waiter) instanceof CompletionInbox ? looks + 1 : 0;
        return looks >= PARKED_LOOKS;
    }
}
