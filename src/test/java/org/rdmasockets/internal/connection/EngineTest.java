package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.sharedmemory.FaultDoor;
import org.rdmasockets.verbs.spi.TransportProvider;

/** An engine serves all that listen or connect over its provider. */
class EngineTest {
    private static TransportProvider provider(Function<String, Object> answers) {
        Object target = new FaultDoor(false).provider();
        return (TransportProvider) Proxy.newProxyInstance(EngineTest.class.getClassLoader(),
                new Class<?>[] {TransportProvider.class}, (proxy, method, arguments) -> {
                    Object answer = answers.apply(method.getName());
                    return answer != null ? answer : method.invoke(target, arguments);
                });
    }

    /** A virtual thread that waits for a time may never run again, for lack of memory. */
    @Test
    void aThreadThatWaitsForARehearsalKeepsNoLock() throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        TransportProvider slow = provider(name -> {
            try {
                over.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return null;
        });
        try (Engine engine = Engine.apart(provider(name -> name.equals("rehearsal") ? Optional.of(slow) : null))) {
            Thread first = Thread.startVirtualThread(engine::prepare);
            Await.until("it waits", () -> first.getState() == Thread.State.TIMED_WAITING);
            Thread other = Thread.ofPlatform().daemon().start(() -> {
                synchronized (engine) {
                    Thread.onSpinWait();
                }
            });
            Await.until("the other has the lock", () -> !other.isAlive());
            assertTrue(first.isAlive(), "it waits all the same");
            over.countDown();
            first.join();
        }
    }
}
