package org.rdmasockets.internal.rpc.call;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.net.SocketTimeoutException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The greeting that begins a connection of calls. */
class HelloTest {
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
}
