package org.rdmasockets.internal.sharedmemory.link;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Isolated;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.sharedmemory.ChildJvm;
import org.rdmasockets.internal.ffi.Descriptors;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.internal.ffi.StrangerMain;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * Two processes, and what is left when one is killed. More rounds with
 * {@code -Dorg.rdmasockets.test.kills=100} and {@code -Dorg.rdmasockets.test.exchanges=1000000}.
 */
@Timeout(600)
@Isolated
class LinkProcessTest {
    private static final int KILLS = Integer.getInteger("org.rdmasockets.test.kills", 5);
    private static final int EXCHANGES = Integer.getInteger("org.rdmasockets.test.exchanges", 5000);
    private static final List<String> NOBODY = List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups");
    /** More than a listener refuses before it pauses. */
    private static final int FLOOD = 1000;
    private static final List<String> GRANTED = List.of("--enable-native-access=ALL-UNNAMED");

    private Node node;
    private LinkListener listener;
    private long descriptorsBefore;
    private long mappingsBefore;

    @BeforeEach
    void start() throws Exception {
        node = new Node();
        listener = node.listen();
        descriptorsBefore = Descriptors.openCount();
        mappingsBefore = Descriptors.sharedMappings();
    }

    @AfterEach
    void stop() {
        node.close();
    }

    private Process start(String mode) throws IOException {
        return ChildJvm.start(List.of(), GRANTED, PeerMain.class, mode,
                Integer.toString(listener.address().getPort()));
    }

    private static boolean isReachable(PeerRegion region) {
        boolean entered = region.tryEnter();
        if (entered) {
            region.leave();
        }
        return entered;
    }

    private static void kill(Process process) throws InterruptedException {
        process.destroyForcibly();
        assertTrue(process.waitFor(Node.LIMIT_SECONDS, TimeUnit.SECONDS));
    }

    private void assertNothingIsLeft() throws Exception {
        Await.until("descriptors to be closed", () -> Descriptors.openCount() <= descriptorsBefore);
        Await.until("memory to be freed", () -> Descriptors.sharedMappings() <= mappingsBefore);
    }

    private static void closePipes(Process process) throws IOException {
        process.getInputStream().close();
        process.getErrorStream().close();
        process.getOutputStream().close();
    }

    @Test
    void aPeerKilledUnderLoadIsNoticedAndNothingIsLeft() throws Exception {
        Random random = new Random(1);
        for (int round = 0; round < KILLS; round++) {
            Process process = start("echo");
            try {
                Recorder end = node.nextLink();
                Thread load = Thread.ofPlatform().start(() -> sendUntilTheEnd(end));
                Await.until("the peer's region", () -> end.link.peerRegion(1) != null);
                PeerRegion region = end.link.peerRegion(1);
                int echoes = random.nextInt(2000);
                for (int i = 0; i < echoes; i++) {
                    assertEquals(i, end.next().slot());
                }
                kill(process);
                String reason = end.awaitClosed();
                assertTrue(reason.contains("process ended"), reason);
                load.join();
                // The handler hears of the death just before the regions go.
                Await.until("the region of a dead process is gone", () -> !isReachable(region));
                end.link.close();
            } finally {
                kill(process);
                closePipes(process);
            }
            assertNothingIsLeft();
        }
    }

    private static void sendUntilTheEnd(Recorder end) {
        Random random = new Random(2);
        for (int i = 0; end.link.isOpen(); i++) {
            byte[] payload = new byte[random.nextInt(3000)];
            while (!end.send(1, i, i, payload) && end.link.isOpen()) {
                LockSupport.parkNanos(10_000);
            }
            PeerRegion region = end.link.peerRegion(1);
            if (region != null && region.tryEnter()) {
                region.segment().asSlice(random.nextInt(1 << 19), 1 << 19).fill((byte) i);
                region.leave();
            }
        }
    }

    @Test
    void theNameOfAKilledListenerIsFreeAtOnce() throws Exception {
        Process process = ChildJvm.start(List.of(), GRANTED, PeerMain.class, "listen");
        try (BufferedReader output = process.inputReader()) {
            String port = output.readLine();
            assertNotNull(port);
            InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(),
                    Integer.parseInt(port));
            VerbsException taken = assertThrows(VerbsException.class, () -> node.hub.listen(address));
            assertEquals(Errno.EADDRINUSE, taken.errno());
            Recorder end = node.dial(address);
            byte[] payload = {1, 2, 3};
            assertTrue(end.send(1, 1, 1, payload));
            assertArrayEquals(payload, end.next().payload());
            kill(process);
            end.awaitClosed();
            VerbsException refused = assertThrows(VerbsException.class, () -> node.outcome(address));
            assertEquals(Errno.ECONNREFUSED, refused.errno());
            node.hub.listen(address).close();
            end.link.close();
        } finally {
            kill(process);
            closePipes(process);
        }
        assertNothingIsLeft();
    }

    @Test
    void aProcessThatScribblesOverAllItHasHarmsNobodyElse() throws Exception {
        Process process = start("scribble");
        try (Node friend = new Node()) {
            Recorder honest = friend.dial(listener.address());
            Recorder atVictim = null;
            SharedRegion kept = node.hub.allocate(1 << 16);
            kept.segment().fill((byte) 5);
            int hostile = 0;
            for (int i = 0; i < EXCHANGES || hostile < 20; i++) {
                for (Recorder end = node.pollLink(); end != null; end = node.pollLink()) {
                    if (end.link.peerProcess() == ProcessHandle.current().pid()) {
                        atVictim = end;
                    } else {
                        hostile++;
                        Thread.ofPlatform().daemon().start(new Attacked(end));
                    }
                }
                if (atVictim != null) {
                    exchange(honest, atVictim, i);
                }
                assertTrue(process.isAlive(), "the attacker has gone");
            }
            kill(process);
            for (long offset = 0; offset < kept.segment().byteSize(); offset++) {
                assertEquals(5, kept.segment().get(JAVA_BYTE, offset));
            }
            kept.close();
            honest.link.close();
            atVictim.link.close();
        } finally {
            kill(process);
            closePipes(process);
        }
    }

    @Test
    void nobodyGetsTheConnectionsOfAnotherByItsNumber() throws Exception {
        Process process = null;
        try (Node friend = new Node(); LinkListener friends = friend.listen()) {
            process = ChildJvm.start(List.of(), GRANTED, PeerMain.class, "impersonate",
                    Integer.toString(listener.address().getPort()), Long.toString(friend.hub.number));
            Recorder impostor = node.nextLink();
            assertEquals(friend.hub.number, impostor.link.peer.hub());
            Recorder end = node.dial(friends.address());
            assertTrue(end.send(1, 1, 1, new byte[1]));
            Recorder atFriend = friend.nextLink();
            assertEquals(1, atFriend.next().slot());
            impostor.link.close();
            end.link.close();
            atFriend.link.close();
        } finally {
            kill(process);
            closePipes(process);
        }
    }

    @Test
    void aProcessWithoutDescriptorsRefusesAndGoesOnLater() throws Exception {
        Process process = ChildJvm.start(List.of("bash", "-c", "ulimit -n 200; exec \"$@\"", "bash"), GRANTED,
                PeerMain.class, "exhaust");
        List<SharedRegion> regions = new ArrayList<>();
        try (BufferedReader output = process.inputReader(); Node other = new Node()) {
            InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(),
                    Integer.parseInt(nextLine(output)));
            Recorder end = node.dial(address);
            regions.add(announce(end, 1));
            assertEquals("region 1 entered", nextLine(output));
            assertEquals("exhausted", nextLine(output));
            regions.add(announce(end, 2));
            assertEquals("region 2 refused", nextLine(output));
            assertEquals(Errno.ECONNREFUSED, refusal(other, address).errno());
            assertTrue(end.send(1, 0, 0, new byte[0]));
            assertEquals("free again", nextLine(output));
            regions.add(announce(end, 3));
            assertEquals("region 3 entered", nextLine(output));
            other.dial(address).link.close();
            regions.forEach(SharedRegion::close);
            end.link.close();
        } finally {
            kill(process);
            closePipes(process);
        }
    }

    /** Dials and fails, now or later. */
    private static VerbsException refusal(Node node, InetSocketAddress address) throws Exception {
        try {
            node.outcome(address).get(Node.LIMIT_SECONDS, TimeUnit.SECONDS);
        } catch (VerbsException e) {
            return e;
        } catch (ExecutionException e) {
            return (VerbsException) e.getCause();
        }
        throw new AssertionError("a link to a process without descriptors");
    }

    private SharedRegion announce(Recorder end, int key) throws VerbsException {
        SharedRegion region = node.hub.allocate(1);
        end.link.announce(region, key, Set.of(), 0);
        assertTrue(end.send(1, key, 0, new byte[0]));
        return region;
    }

    /** The next line that is not of the log. */
    private static String nextLine(BufferedReader output) throws IOException {
        String line = output.readLine();
        while (line != null && line.contains(" WARN ")) {
            line = output.readLine();
        }
        return line;
    }

    @Test
    void anotherUserIsRefusedBothWays() throws Exception {
        if (PacketSocket.ownUser() != 0) {
            System.out.println("Not tried: only root can become another user");
            return;
        }
        InetSocketAddress free = new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
        Process squatter = ChildJvm.start(NOBODY, GRANTED, StrangerMain.class, "listen",
                LinkListener.name(free, false));
        try (BufferedReader output = squatter.inputReader()) {
            assertEquals("ready as user 65534", output.readLine());
            VerbsException refusal = assertThrows(VerbsException.class, () -> node.outcome(free));
            assertEquals(Errno.ECONNREFUSED, refusal.errno());
            assertTrue(refusal.remedy().contains("the listener is user 65534's"), refusal.getMessage());
            Path name = Descriptors.named(LinkListener.name(listener.address(), false));
            assertEquals("EACCES", connectAsNobody(name));
            // Even if the file is opened to other users, the hub refuses them, and says so.
            Files.setPosixFilePermissions(name, PosixFilePermissions.fromString("rwxrwxrwx"));
            assertEquals("received " + LinkPacket.BYTES, connectAsNobody(name));
            // A listener that pauses after many refusals looks again.
            assertEquals("received " + LinkPacket.BYTES, ChildJvm.run(NOBODY, GRANTED, StrangerMain.class, "connect",
                    name.toString(), "" + FLOOD).strip().replaceFirst("(?s).*\\n", ""));
            assertEquals("received " + LinkPacket.BYTES, connectAsNobody(name));
            assertEquals(0, node.unclaimedLinks());
        } finally {
            kill(squatter);
        }
    }

    /** The last line of a stranger that connects. */
    private static String connectAsNobody(Path name) throws Exception {
        return ChildJvm.run(NOBODY, GRANTED, StrangerMain.class, "connect", name.toString()).strip()
                .replaceFirst("(?s).*\n", "");
    }

    private static void exchange(Recorder honest, Recorder atVictim, int i) throws InterruptedException {
        byte[] payload = {(byte) i};
        assertTrue(honest.send(1, i, 0, payload));
        assertEquals(i, atVictim.next().slot());
        assertTrue(atVictim.send(1, i, 0, payload));
        assertArrayEquals(payload, honest.next().payload());
    }

    /** Talks with an attacker as if nothing were the matter, until its link is dead. */
    private record Attacked(Recorder end) implements Runnable {
        @Override
        public void run() {
            try {
                for (int i = 0; end.link.isOpen(); i++) {
                    end.send(1, i, i, new byte[i % 2000]);
                    end.link.tryDrain(16);
                    end.link.arm();
                }
                end.awaitClosed();
            } catch (Exception e) {
                throw new AssertionError(e);
            } finally {
                end.link.close();
            }
        }
    }
}
