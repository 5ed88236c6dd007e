package org.rdmasockets.internal.sharedmemory.link;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.internal.ffi.Descriptors;
import org.rdmasockets.internal.ffi.PacketSocket;
import org.rdmasockets.verbs.VerbsException;
import org.slf4j.LoggerFactory;

/** The other process: {@code listen}, or something to do with the port to dial. Lives until killed. */
final class PeerMain {
    private PeerMain() {
    }

    /** Runs. */
    public static void main(String[] arguments) throws Exception {
        Thread.ofPlatform().daemon().start(PeerMain::endWithTheParent);
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(),
                arguments.length > 1 ? Integer.parseInt(arguments[1]) : 0);
        switch (arguments[0]) {
            case "listen" -> listen(address);
            case "echo" -> echo(address);
            case "exhaust" -> exhaust(address);
            case "scribble" -> scribble(address);
            case "impersonate" -> impersonate(address, Long.parseLong(arguments[2]));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static void endWithTheParent() {
        try {
            while (System.in.read() >= 0) {
                Thread.onSpinWait();
            }
        } catch (IOException e) {
            System.err.println(e.getMessage());
        }
        Runtime.getRuntime().halt(1);
    }

    private static void listen(InetSocketAddress address) throws Exception {
        try (Node node = new Node()) {
            System.out.println(Node.listen(node.hub, address.getAddress()).address().getPort());
            echoAll(node.nextLink(), node);
        }
    }

    /**
     * Runs out of descriptors while the parent announces region 2 and dials once more, then has some again. A first
     * region and a message have loaded the classes that are needed meanwhile: the JVM cannot read class files then.
     */
    private static void exhaust(InetSocketAddress address) throws Exception {
        LoggerFactory.getLogger(PeerMain.class).warn("loads {}", "the logger");
        try (Node node = new Node()) {
            try {
                node.outcome(new InetSocketAddress(address.getAddress(), 1));
            } catch (VerbsException e) {
                LoggerFactory.getLogger(PeerMain.class).warn("as expected: {}", e.getMessage());
            }
            System.out.println(Node.listen(node.hub, address.getAddress()).address().getPort());
            Recorder end = node.nextLink();
            end.next();
            System.out.println("region 1 " + enter(end.link.peerRegion(1)));
            List<PacketSocket> sockets = Descriptors.takeAll();
            System.out.println("exhausted");
            end.next();
            System.out.println("region 2 " + enter(end.link.peerRegion(2)));
            end.next();
            sockets.forEach(PacketSocket::close);
            System.out.println("free again");
            end.next();
            System.out.println("region 3 " + enter(end.link.peerRegion(3)));
            end.awaitClosed();
        }
    }

    private static String enter(PeerRegion region) {
        if (!region.tryEnter()) {
            return "refused";
        }
        region.leave();
        return "entered";
    }

    private static void echo(InetSocketAddress address) throws Exception {
        try (Node node = new Node()) {
            echoAll(node.dial(address), node);
        }
    }

    /** Lends a region, and sends back what comes. */
    private static void echoAll(Recorder end, Node node) throws Exception {
        SharedRegion region = node.hub.allocate(1 << 20);
        end.link.announce(region, 1, Set.of(), 0);
        while (end.link.isOpen()) {
            Recorder.Copy copy = end.next();
            while (end.link.isOpen() && !end.send(copy.kind(), copy.slot(), copy.first(), copy.payload())) {
                LockSupport.parkNanos(10_000);
            }
        }
        end.awaitClosed();
    }

    /** Links itself in the name of another hub. */
    private static void impersonate(InetSocketAddress address, long hub) throws Exception {
        try (Intruder intruder = new Intruder(address)) {
            intruder.greet(LinkPacket.VERSION, hub);
            intruder.share();
            intruder.awaitDropped();
        }
    }

    /** Takes away, shortens and overwrites what it can, on one link after another. */
    private static void scribble(InetSocketAddress address) throws Exception {
        Random random = new Random(address.getPort());
        System.out.println("scribbling");
        while (true) {
            try (Intruder intruder = Intruder.linked(address)) {
                for (int round = 0; round < 20; round++) {
                    scribble(intruder, random);
                }
            } catch (VerbsException e) {
                if (e.getMessage().contains("ECONNREFUSED")) {
                    return; // the victim has gone
                }
                throw e;
            }
        }
    }

    private static void scribble(Intruder intruder, Random random) {
        MemorySegment memory = intruder.mapping().memory();
        for (int i = 0; i < 5000; i++) {
            long offset = random.nextInt(3) == 0 ? random.nextLong(SegmentLayout.BYTES / 8) * 8
                    : random.nextInt(8192 / 64) * 64L;
            memory.set(JAVA_LONG, offset, random.nextBoolean() ? random.nextLong() : random.nextInt(5000) * 64L);
        }
        intruder.attackMemory(Descriptors::punchHole, SegmentLayout.BYTES);
        intruder.attackMemory(Descriptors::truncate, random.nextInt(2) * 2L * SegmentLayout.BYTES);
        intruder.ring();
        int bytes = 1 + random.nextInt(60);
        for (int i = 0; i < bytes; i++) {
            intruder.buffer.packet().put(i, (byte) random.nextInt(6));
        }
        if (random.nextInt(10) == 0) {
            intruder.trySend(bytes);
        }
    }
}
