package org.rdmasockets.internal.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Rescues are counted; each trial has a copy of the library of its own, so that this process still counts none. */
@Isolated
class RescuesTest {
    private static Class<?> rescues(Mutant library) throws Exception {
        return Class.forName("org.rdmasockets.internal.lock.Rescues", true, library);
    }

    private static Mutant whole() {
        return new Mutant("none", "none");
    }

    @Test
    void eachPlaceHasItsCountAndTheFirstIsTold() throws Exception {
        Class<?> rescues = rescues(whole());
        CountDownLatch told = new CountDownLatch(2);
        rescues.getMethod("onFirst", Runnable.class).invoke(null, (Runnable) told::countDown);
        for (String place : new String[] {"A.look", "B.look", "A.look"}) {
            rescues.getMethod("count", String.class).invoke(null, place);
        }
        assertEquals(3L, rescues.getMethod("count").invoke(null));
        assertEquals(Map.of("A.look", 2L, "B.look", 1L), rescues.getMethod("places").invoke(null));
        rescues.getMethod("onFirst", Runnable.class).invoke(null, (Runnable) told::countDown);
        assertTrue(told.await(30, TimeUnit.SECONDS), "neither the first rescue nor a late listener was told");
    }

    @Test
    void aLookAtTheEventsOfAConnectThatWakesNoThreadIsCounted() throws Exception {
        Mutant library = new Mutant("org.rdmasockets.internal.connection.ConnectionEvents", "wake");
        Class<?> rescues = rescues(library);
        Runnable connects = (Runnable) Class.forName("org.rdmasockets.internal.lock.ConnectOnce", true, library)
                .getDeclaredConstructor().newInstance();
        connects.run();
        assertEquals(1, library.changed(), "ConnectionEvents.wake has another name");
        assertTrue((long) rescues.getMethod("count").invoke(null) > 0, "a connect without wake-ups counts no rescue");
        assertTrue(((Map<?, ?>) rescues.getMethod("places").invoke(null)).containsKey("ConnectionEvents.within"));
    }

    @Test
    void aConnectWithItsWakeUpsCountsNone() throws Exception {
        Mutant library = whole();
        Class<?> rescues = rescues(library);
        ((Runnable) Class.forName("org.rdmasockets.internal.lock.ConnectOnce", true, library).getDeclaredConstructor()
                .newInstance()).run();
        assertEquals(Map.of(), rescues.getMethod("places").invoke(null));
    }
}
