package org.rdmasockets.internal.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Threads of the library keep nothing of the threads that start them. */
class LibraryThreadsTest {
    private static final int SECONDS_TO_WAIT = 60;
    private static final InheritableThreadLocal<Object> CALLERS = new InheritableThreadLocal<>();

    /** The properties of a thread. */
    private record Belongings(ClassLoader loader, ThreadGroup group, Object local, boolean daemon, int priority) {
        static Belongings now() {
            Thread me = Thread.currentThread();
            return new Belongings(me.getContextClassLoader(), me.getThreadGroup(), CALLERS.get(), me.isDaemon(),
                    me.getPriority());
        }
    }

    @Test
    void ofAnApplicationThatIsUndeployedNothingIsKept() throws Exception {
        CompletableFuture<Belongings> own = new CompletableFuture<>();
        ThreadGroup application = new ThreadGroup("application");
        try (URLClassLoader loader = new URLClassLoader(new URL[0])) {
            Thread caller = new Thread(application, () -> {
                CALLERS.set(new Object());
                LibraryThreads.unstarted("rdma-test", () -> own.complete(Belongings.now())).start();
            });
            caller.setContextClassLoader(loader);
            caller.setPriority(Thread.MIN_PRIORITY);
            caller.start();
            Belongings found = own.get(SECONDS_TO_WAIT, TimeUnit.SECONDS);
            assertSame(ClassLoader.getSystemClassLoader(), found.loader());
            assertNull(found.group().getParent(), "the topmost group");
            assertNull(found.local());
            assertTrue(found.daemon());
            assertEquals(Thread.NORM_PRIORITY, found.priority());
        }
    }

    @Test
    void workThatEndsByAnErrorTellsSoWhateverMemoryThatWants() {
        List<Object> seen = new ArrayList<>();
        Error error = new OutOfMemoryError("says the test");
        Consumer<Throwable> failed = e -> {
            seen.add(e);
            if (seen.size() < 5) {
                throw new OutOfMemoryError("again");
            }
        };
        Runnable task = () -> {
            seen.add("runs");
            if (seen.size() < 3) {
                throw error;
            }
        };
        LibraryThreads.once(task, failed).run();
        assertEquals(List.of("runs", error, error, error, error), seen, "once");
        seen.clear();
        LibraryThreads.insisting(task, failed).run();
        assertEquals(List.of("runs", "runs", "runs"), seen, "insisting");
    }
}
