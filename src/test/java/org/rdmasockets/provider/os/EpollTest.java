package org.rdmasockets.provider.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.contract.Await;
import org.rdmasockets.verbs.VerbsException;

/** Who is told of a descriptor that one only is told of. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class EpollTest {
    private static final int ROUNDS = 20;
    private static final int LIMIT_SECONDS = 30;
    private static final int FOR_EVER = -1;
    private static final long DATA = 7;
    /** Names of threads as the kernel knows them, by which it tells whether they sleep. */
    private static final String BESIDE = "test-beside";
    private static final String OTHER = "test-other";

    private Epoll set;
    private EpollWait other;
    private EpollWait beside;
    private int source;

    @BeforeEach
    void open() throws VerbsException {
        set = Epoll.create();
        other = EpollWait.on(set);
        beside = EpollWait.beside(set);
        source = (int) Posix.EVENTFD.check("", 0, Posix.EFD_CLOEXEC | Posix.EFD_NONBLOCK);
        set.watch(source, Epoll.READABLE | Epoll.ONE, DATA);
    }

    @AfterEach
    void close() {
        beside.close();
        other.close();
        set.close();
        Posix.CLOSE.call(source);
    }

    private static FutureTask<Integer> waitInThread(EpollWait wait, String name) throws Exception {
        FutureTask<Integer> task = new FutureTask<>(() -> wait.await(FOR_EVER));
        Thread.ofPlatform().daemon().name(name).start(task);
        Await.until(name + " sleeps", () -> sleeps(name));
        return task;
    }

    private static boolean sleeps(String name) {
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path thread : threads) {
                String state = Files.readString(thread.resolve("stat"));
                if (state.contains("(" + name + ") S")) {
                    String where = Files.readString(thread.resolve("wchan"));
                    return where.contains("poll") || where.equals("0"); // not all kernels tell
                }
            }
            return false;
        } catch (IOException e) {
            return false; // a thread that has ended meanwhile
        }
    }

    private static int result(FutureTask<Integer> task) throws Exception {
        return task.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    }

    private void takeEvent() {
        try (Arena arena = Arena.ofConfined()) {
            Posix.readCounter(source, arena.allocate(Long.BYTES, Long.BYTES));
        }
    }

    @Test
    void whoWaitsBesideIsToldAlthoughTheOtherCameLater() throws Exception {
        for (int i = 0; i < ROUNDS; i++) {
            FutureTask<Integer> first = waitInThread(beside, BESIDE);
            FutureTask<Integer> later = waitInThread(other, OTHER);
            Posix.writeCounter(source);
            assertEquals(1, result(first));
            assertEquals(DATA, beside.data(0));
            assertFalse(later.isDone(), "both were told");
            takeEvent();
            other.wakeup();
            assertEquals(0, result(later), "the other was told what is done");
        }
    }

    @Test
    void theOtherIsToldWhileNobodyWaitsBeside() throws Exception {
        for (int i = 0; i < ROUNDS; i++) {
            FutureTask<Integer> alone = waitInThread(other, OTHER);
            Posix.writeCounter(source);
            assertEquals(1, result(alone));
            assertEquals(DATA, other.data(0));
            takeEvent();
            assertEquals(0, beside.await(1), "what is done is told beside");
        }
    }

    @Test
    void whatIsChangedIsToldAgainIfItIsThere() throws Exception {
        Posix.writeCounter(source);
        assertEquals(1, beside.await(FOR_EVER));
        set.watch(source, Epoll.READABLE | Epoll.ONE, DATA + 1);
        assertEquals(1, other.await(FOR_EVER));
        assertEquals(DATA + 1, other.data(0));
        set.remove(source);
        assertEquals(0, beside.await(1) + other.await(1), "what was removed is told");
    }
}
