package org.rdmasockets.contract;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.internal.ffi.SharingPolicy;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionEvent.AddressResolved;
import org.rdmasockets.verbs.ConnectionEvent.Disconnected;
import org.rdmasockets.verbs.ConnectionEvent.Established;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** Verbs over shared memory with another process: every operation, every error, and its death. */
@Isolated
class BetweenProcessesTest extends VerbsContract {
    private static final int TARGET = 4096;
    /** Property with the number of processes that are killed under load. */
    private static final String ROUNDS_PROPERTY = "org.rdmasockets.test.kills";

    private Process process;
    private InetSocketAddress there;

    @Override
    VerbsFixture fixture() {
        return new VerbsFixture(Providers.sharedMemory(), "sharedmemory", InetAddress.ofLiteral("127.0.0.1"));
    }

    @BeforeEach
    void startProcess() throws Exception {
        process = ChildJvm.start(List.of(), List.of("--enable-native-access=ALL-UNNAMED"), FarEnd.class);
        BufferedReader output = process.inputReader();
        there = new InetSocketAddress(fixture().address(), Integer.parseInt(output.readLine()));
        Thread.ofPlatform().daemon().start(() -> output.lines().forEach(line -> { }));
    }

    @AfterEach
    void stopProcess() {
        process.destroyForcibly();
    }

    /** This end of a connection, and where the other end's region is. */
    private record Near(End end, long address, int key) {
    }

    private Near connect(byte mode) throws VerbsException {
        ConnectionEvents events = new ConnectionEvents();
        ConnectionIdentifier identifier = closing(Pair.resolve(loop(), there, events));
        End end = closing(new End(identifier, events));
        byte[] request = ByteBuffer.allocate(13).put(mode).putLong(end.region.address())
                .putInt(end.region.remoteKey()).array();
        identifier.connect(new ConnectionParameters(request, 1, 1, 6, 7));
        ByteBuffer answer = ByteBuffer.wrap(events.await(Established.class).parameters().privateData());
        for (int i = 0; i < TARGET; i++) {
            end.memory.set(JAVA_BYTE, i, (byte) (i * 11 + 3));
        }
        return new Near(end, answer.getLong(), answer.getInt());
    }

    /** Sends bytes from the beginning of the region and expects them back. */
    private static void assertEchoes(Near near, int length) throws VerbsException {
        End end = near.end();
        int back = End.BYTES - length;
        end.memory.asSlice(back, length).fill((byte) 0);
        end.postReceive(1, back, length);
        end.send.send(2).add(end.region, 0, length).signalled();
        end.postSend();
        awaitBoth(end, 1, 2);
        assertEquals(-1, MemorySegment.mismatch(end.memory, 0, length, end.memory, back, back + length),
                "first byte that differs");
    }

    private static void awaitBoth(End end, long one, long other) throws VerbsException {
        End.Done first = end.await();
        assertEquals(WorkCompletionStatus.SUCCESS, first.status(), first::toString);
        assertTrue(first.id() == one || first.id() == other, first::toString);
        end.awaitSuccess(first.id() == one ? other : one);
    }

    @Test
    void sendsAreEchoed() throws VerbsException {
        Near near = connect(FarEnd.ECHO);
        for (int i = 0; i < 3 * End.RECEIVES; i++) {
            assertEchoes(near, 1 + i * 20);
        }
    }

    @Test
    void aSendLongerThanAnEntryArrivesWhole() throws VerbsException {
        Near near = connect(FarEnd.ECHO_LARGE);
        End end = near.end();
        for (int length : new int[] {FarEnd.LARGE, 16 * 1024, 16 * 1024 + 1, 0}) {
            end.memory.asSlice(0, FarEnd.LARGE).fill((byte) length);
            end.send.send(2).add(end.region, 0, length / 2).add(end.region, length / 2, length - length / 2);
            end.send.signalled();
            end.postSend();
            // Sent means copied.
            end.memory.fill((byte) 99);
            end.postReceive(1, 0, FarEnd.LARGE);
            awaitBoth(end, 1, 2);
            for (int i = 0; i < length; i++) {
                assertEquals((byte) length, end.memory.get(JAVA_BYTE, i), "byte " + i + " of " + length);
            }
        }
    }

    @Test
    void memoryIsWrittenAndRead() throws VerbsException {
        Near near = connect(FarEnd.ECHO);
        End end = near.end();
        end.send.write(1, near.address() + TARGET, near.key()).add(end.region, 5, 3000).signalled();
        end.postSend();
        assertEquals(CompletionOpcode.WRITE, end.awaitSuccess(1).opcode());
        end.send.read(2, near.address() + TARGET, near.key()).add(end.region, 8192, 3000).signalled();
        end.postSend();
        assertEquals(CompletionOpcode.READ, end.awaitSuccess(2).opcode());
        assertEquals(-1, MemorySegment.mismatch(end.memory, 5, 3005, end.memory, 8192, 11192));
    }

    @Test
    void immediateDataComesBack() throws VerbsException {
        Near near = connect(FarEnd.ECHO);
        End end = near.end();
        end.postReceive(1, 0, 10);
        end.send.write(2, near.address(), near.key()).immediate(0x7654321).add(end.region, 0, 64).signalled();
        end.postSend();
        End.Done done = end.await();
        done = done.id() == 1 ? done : end.awaitSuccess(1);
        assertEquals(0x7654321, done.immediate());
        assertTrue(done.hasImmediate());
    }

    @Test
    void atomicsWorkOnTheOtherProcess() throws VerbsException {
        Near near = connect(FarEnd.ECHO);
        End end = near.end();
        end.send.fetchAndAdd(1, near.address(), near.key(), 5).add(end.region, 8192, 8).signalled();
        end.postSend();
        end.awaitSuccess(1);
        assertEquals(0, end.memory.get(JAVA_LONG, 8192));
        end.send.compareAndSwap(2, near.address(), near.key(), 5, -9).add(end.region, 8192, 8).signalled();
        end.postSend();
        end.awaitSuccess(2);
        assertEquals(5, end.memory.get(JAVA_LONG, 8192));
        end.send.fetchAndAdd(3, near.address(), near.key(), 0).add(end.region, 8192, 8).signalled();
        end.postSend();
        end.awaitSuccess(3);
        assertEquals(-9, end.memory.get(JAVA_LONG, 8192));
    }

    @Test
    void theOtherProcessWritesToRegionsOfThisOne() throws VerbsException {
        Near near = connect(FarEnd.WRITE);
        End end = near.end();
        end.postReceiveNothing(1);
        end.send.send(2).add(end.region, 1000, 500).signalled();
        end.postSend();
        End.Done first = end.await();
        End.Done done = first.id() == 1 ? first : end.awaitSuccess(1);
        assertEquals(FarEnd.IMMEDIATE, done.immediate());
        assertEquals(500, done.lengthBytes());
        assertEquals(-1, MemorySegment.mismatch(end.memory, 1000, 1500, end.memory, 0, 500));
    }

    @Test
    void aRegionThatIsClosedIsReachedNoMore() throws VerbsException {
        Near near = connect(FarEnd.WRITE);
        End end = near.end();
        var source = closing(end.domain.allocate(100, end.region.access()));
        end.region.close();
        end.postReceiveNothing(1);
        end.send.send(2).add(source, 0, 100).signalled();
        end.postSend();
        End.Done first = end.await();
        End.Done done = first.id() == 1 ? first : end.await();
        assertEquals(WorkCompletionStatus.FLUSHED, done.status(), "the other end's write breaks the connection");
    }

    @Test
    void whatIsNotAllowedIsRefused() throws VerbsException {
        Near other = connect(FarEnd.ECHO);
        for (SendRequest.Opcode opcode : List.of(SendRequest.Opcode.WRITE, SendRequest.Opcode.READ)) {
            for (int wrong = 0; wrong < 3; wrong++) {
                Near near = connect(FarEnd.ECHO);
                End end = near.end();
                long address = wrong == 0 ? near.address() + End.BYTES - 3 : near.address();
                // A key that does not exist, or that of another connection's domain, which this process also has.
                int key = wrong == 1 ? near.key() ^ 0x5a5a5a00 : wrong == 2 ? other.key() : near.key();
                address = wrong == 2 ? other.address() : address;
                if (opcode == SendRequest.Opcode.WRITE) {
                    end.send.write(1, address, key).add(end.region, 0, 4).signalled();
                } else {
                    end.send.read(1, address, key).add(end.region, 0, 4).signalled();
                }
                end.postSend();
                assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, end.await().status(), opcode + " " + wrong);
            }
        }
        assertEchoes(other, 100);
    }

    @Test
    void aReceiveThatIsTooShortFailsBothEnds() throws VerbsException {
        Near near = connect(FarEnd.ECHO);
        End end = near.end();
        end.postReceive(1, 0, 10);
        end.send.send(2).add(end.region, 0, FarEnd.SMALL + 1).signalled();
        end.postSend();
        End.Done first = end.await();
        End.Done done = first.id() == 1 ? first : end.await();
        assertEquals(1, done.id());
        assertEquals(WorkCompletionStatus.FLUSHED, done.status());
    }

    @Test
    void aSendWithoutAReceiveWaitsAndEndsWithTheProcess() throws Exception {
        Near near = connect(FarEnd.SILENT);
        End end = near.end();
        end.send.send(1).add(end.region, 0, 10).signalled();
        end.postSend();
        end.send.write(2, near.address(), near.key()).add(end.region, 0, 10).signalled();
        end.postSend();
        assertEquals(0, end.pollNow(), "completions without a receive");
        process.destroyForcibly();
        assertEquals(WorkCompletionStatus.RETRY_EXCEEDED, end.await().status());
        assertEquals(WorkCompletionStatus.FLUSHED, end.await().status());
        end.events.await(Disconnected.class);
    }

    @Test
    void aKilledProcessEndsItsConnectionsAtOnce() throws Exception {
        Near near = connect(FarEnd.ECHO);
        End end = near.end();
        assertEchoes(near, 100);
        end.postReceive(7, 0, 100);
        process.destroyForcibly();
        end.events.await(Disconnected.class);
        assertEquals(0, end.pollNow(), "the receive stays, as on a network");
        end.send.write(1, near.address(), near.key()).add(end.region, 0, 10).signalled();
        end.postSend();
        assertEquals(WorkCompletionStatus.RETRY_EXCEEDED, end.await().status());
        assertEquals(WorkCompletionStatus.FLUSHED, end.await().status());
        process.waitFor();
        ConnectionEvents events = new ConnectionEvents();
        ConnectionIdentifier identifier = closing(loop().manager().createIdentifier(events));
        identifier.resolveAddress(there, Pair.RESOLVE_MILLIS);
        events.await(AddressResolved.class);
        identifier.resolveRoute(Pair.RESOLVE_MILLIS);
        assertEquals(new ConnectionEvent.Failed("rdma_resolve_route", Errno.ECONNREFUSED.number(),
                SharingPolicy.NO_LISTENER), events.await(ConnectionEvent.Failed.class));
    }

    @Test
    void aPortOfAnotherProcessIsTaken() throws VerbsException {
        ConnectionIdentifier identifier = closing(loop().manager().createIdentifier(new ConnectionEvents()));
        refused(Errno.EADDRINUSE, "taken by another process of this user", () -> identifier.bind(there));
    }

    @Test
    void manyConnectionsGoOverOneLink() throws VerbsException {
        Near[] all = new Near[40];
        for (int i = 0; i < all.length; i++) {
            all[i] = connect(FarEnd.ECHO);
        }
        for (int round = 0; round < 3; round++) {
            for (Near near : all) {
                assertEchoes(near, 200);
            }
        }
        for (int i = 0; i < all.length; i += 2) {
            all[i].end().close();
        }
        for (int i = 1; i < all.length; i += 2) {
            assertEchoes(all[i], 100);
        }
    }

    @Test
    void slotsAreUsedAgain() throws VerbsException {
        for (int i = 0; i < 100; i++) {
            Near near = connect(FarEnd.ECHO);
            assertEchoes(near, 10);
            near.end().close();
        }
    }

    @Test
    void processesKilledUnderLoadLeaveNothing() throws Exception {
        Near lasting = connect(FarEnd.ECHO);
        InetSocketAddress lastingPort = there;
        Process lastingProcess = process;
        killUnderLoad(0);
        long before = ownDescriptorsAndMaps();
        for (int round = 1; round <= Integer.getInteger(ROUNDS_PROPERTY, 4); round++) {
            killUnderLoad(round);
            assertEchoes(lasting, 500);
        }
        Await.until("descriptors and mappings are as before: " + before, () -> ownDescriptorsAndMaps() <= before);
        process = lastingProcess;
        there = lastingPort;
        assertEchoes(connect(FarEnd.ECHO), 500);
    }

    /** A process is killed at some moment while two connections to it are busy; both ends here have to notice. */
    private void killUnderLoad(int round) throws Exception {
        startProcess();
        Near writing = connect(FarEnd.ECHO);
        Near echoing = connect(FarEnd.ECHO);
        Process victim = process;
        Thread killer = Thread.ofPlatform().start(() -> {
            LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(round * 7919L % 20_000));
            victim.destroyForcibly();
        });
        WorkCompletionStatus last = WorkCompletionStatus.SUCCESS;
        SendRequest send = writing.end().send;
        for (int i = 0; last == WorkCompletionStatus.SUCCESS; i++) {
            send.write(1, writing.address(), writing.key()).add(writing.end().region, 0, 1 + i % 4000).signalled();
            writing.end().postSend();
            last = writing.end().await().status();
            echoing.end().send.send(2).add(echoing.end().region, 0, 100);
            echoing.end().queuePair.postSend(echoing.end().send);
            echoing.end().pollNow();
        }
        // The memory of a process may be gone before its link is, as on a network.
        assertTrue(last == WorkCompletionStatus.RETRY_EXCEEDED || last == WorkCompletionStatus.REMOTE_ACCESS_ERROR,
                "how it ended in round " + round + ": " + last);
        writing.end().events.await(Disconnected.class);
        echoing.end().events.await(Disconnected.class);
        killer.join();
        writing.end().close();
        echoing.end().close();
    }

    /** Open descriptors, and mappings of sealed memory, of this process. */
    private static long ownDescriptorsAndMaps() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"));
                Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return descriptors.count() + maps.filter(line -> line.contains("memfd:")).count();
        }
    }
}
