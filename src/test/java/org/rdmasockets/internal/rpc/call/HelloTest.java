package org.rdmasockets.internal.rpc.call;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The greeting that begins a connection of calls, and the word that it ends. */
class HelloTest {
    private static final int MAX_MESSAGE = 1 << 20;
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(40);

    /** A server that has just started may load code for long before it greets its first client. */
    @Test
    void aClientWaitsForItAsLongAsItIsTold() {
        long limit = TimeUnit.MINUTES.toNanos(10);
        long begun = System.nanoTime();
        AtomicLong until = new AtomicLong();
        Carrier silent = (Carrier) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {Carrier.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("receive")) {
                        until.set((long) arguments[0]);
                        throw new SocketTimeoutException("nothing has come in time");
                    }
                    return method.getReturnType() == boolean.class ? false : null;
                });
        assertThrows(SocketTimeoutException.class, () -> new ClientConnection(silent, CallConnection.WINDOW,
                new byte[ClientConnection.IDENTITY_BYTES], 0, limit));
        assertTrue(until.get() - begun >= limit, "it waits for " + (until.get() - begun) + " ns");
    }

    /** Streams are not made again: each change of an old connection for a new one would cost some. */
    @Test
    void callsThatCrossTheWordThatTheirConnectionIsOldRun() throws Exception {
        CallServer.Aging old = new CallServer.Aging(Long.MAX_VALUE, TimeUnit.MILLISECONDS.toNanos(1), Long.MAX_VALUE);
        long begun = System.nanoTime(); // before the connection can be old
        try (CallServer server = CallServer.over(listen(), name -> new CallMethod.Begun(call ->
                call.finish(Code.OK, "", null, null), false), CallServer.Settings.DEFAULT, old);
                Carrier carrier = greeted(server)) {
            assertEquals(Frame.GOAWAY, receive(carrier).kind);
            callUntilRefused(carrier);
            assertTrue(System.nanoTime() - begun >= ServerConnection.GRACE.toNanos(), "calls were refused before the"
                    + " grace was over");
        }
    }

    /** A call that comes later does not begin, and its client may make it elsewhere. */
    @Test
    void theLastWordOfAServerThatIsShutDownIsThatNoCallRuns() throws Exception {
        try (CallServer server = CallServer.over(listen(), name -> null, CallServer.Settings.DEFAULT);
                Carrier carrier = greeted(server)) {
            server.shutdown();
            Frame word = receive(carrier);
            while (word.kind == Frame.GOAWAY && word.flags == 0) { // twice if it was about to greet
                word = receive(carrier);
            }
            assertEquals(Frame.GOAWAY, word.kind, word::toString);
            assertEquals(Frame.LAST, word.flags, word::toString);
            assertThrows(IOException.class, () -> receive(carrier));
        }
    }

    private static Carrier.Listener listen() throws IOException {
        return EndpointCarrier.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), MAX_MESSAGE);
    }

    private static Frame hello(int bytes) {
        Frame hello = new Frame(Frame.HELLO, Frame.NUMBERED, 0, new byte[bytes]);
        hello.code = CallConnection.VERSION;
        hello.value = MAX_MESSAGE;
        hello.number = CallConnection.WINDOW;
        return hello;
    }

    private static Frame receive(Carrier carrier) throws IOException {
        return carrier.receive(System.nanoTime() + LIMIT_NANOS);
    }

    /** A client's end that has greeted and was greeted. */
    private static Carrier greeted(CallServer server) throws IOException {
        Carrier carrier = EndpointCarrier.connect(server.localAddress(), MAX_MESSAGE, LIMIT_NANOS);
        carrier.send(hello(ClientConnection.IDENTITY_BYTES + Long.BYTES), Long.MAX_VALUE);
        assertEquals(Frame.HELLO, receive(carrier).kind);
        return carrier;
    }

    private static void callUntilRefused(Carrier carrier) {
        try {
            int code = Code.OK;
            for (int i = 1; code == Code.OK; i++) {
                Frame call = new Frame(Frame.CALL, 0, i);
                call.text = "any";
                carrier.send(call, Long.MAX_VALUE);
                code = receive(carrier).code;
                waitForNothing(carrier);
            }
        } catch (IOException e) {
            return; // the connection has ended
        }
    }

    private static void waitForNothing(Carrier carrier) throws IOException {
        try {
            carrier.receive(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(10));
        } catch (SocketTimeoutException e) {
            return; // the connection goes on
        }
    }
}
