package org.rdmasockets.internal.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.rdmasockets.rpc.RpcClient;
import org.rdmasockets.rpc.RpcServer;

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

    /** All of its code, but the program for administrators and what only asks whether the JVM ends. */
    @Test
    void allAreMadeInOnePlace() throws Exception {
        Pattern makes = Pattern.compile("Thread\\.of[VP]|startVirtualThread|new Thread\\(|newThread\\w+Executor");
        Path code = Path.of("src/main/java/org/rdmasockets");
        try (Stream<Path> files = Files.walk(code)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String name = code.relativize(file).toString();
                if (!name.startsWith("internal/doctor/") && !name.equals("internal/log/LogRecords.java")
                        && !name.equals("internal/lock/LibraryThreads.java")) {
                    assertFalse(makes.matcher(Files.readString(file)).find(), name);
                }
            }
        }
    }

    /** A virtual thread that parks without memory for a timer never runs again: so must not one that serves all. */
    @Test
    void thoseThatServeAllConnectionsOfAServerAreNotVirtual() throws Exception {
        try (RpcServer server = RpcServer.builder().datagrams()
                .listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
            List<String> platform = Thread.getAllStackTraces().keySet().stream().map(Thread::getName).toList();
            assertTrue(platform.containsAll(List.of("rdma-rpc-accept", "rdma-rpc-session-timer")),
                    () -> server + " " + platform);
        }
    }

    @Test
    void methodsOfAServerHaveTheClassLoaderOfItsMakerAndNoOtherThingOfAnyThread() throws Exception {
        CompletableFuture<Belongings> method = new CompletableFuture<>();
        CompletableFuture<Belongings> watcher = new CompletableFuture<>();
        FutureTask<Void> application = new FutureTask<>(() -> {
            CALLERS.set(new Object());
            try (RpcServer server = RpcServer.builder().unary("look", (request, call) -> {
                method.complete(Belongings.now());
                return request;
            }).listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                    RpcClient client = RpcClient.builder().onState(now -> watcher.complete(Belongings.now()))
                            .connect(server.localAddress())) {
                client.call("look", new byte[1]);
                watcher.get(SECONDS_TO_WAIT, TimeUnit.SECONDS);
                return null;
            }
        });
        try (URLClassLoader loader = new URLClassLoader(new URL[0])) {
            Thread caller = new Thread(application);
            caller.setContextClassLoader(loader);
            caller.start();
            application.get(SECONDS_TO_WAIT, TimeUnit.SECONDS);
            for (Belongings found : List.of(method.join(), watcher.join())) {
                assertSame(loader, found.loader());
                assertNull(found.local());
            }
        }
    }
}
