package org.rdmasockets.benchmark;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** One way to carry bytes, as it is compared with the others. Neighbours here are measured one after the other. */
enum Contender {
    /** The contender that every ratio refers to. */
    PLAIN("java.net.Socket", () -> new SocketPeer(false), true, Contender.MANY),
    PLAIN_PLATFORM("java.net.Socket, platform threads", () -> new SocketPeer(false), false, 1_000),
    UNIX("Unix domain channel", UnixPeer::new, true, Contender.MANY),
    RDMA_PARKING("RdmaSocket, spinMicros=0", () -> new SocketPeer(true), true, Contender.MANY),
    RDMA_ONE_JVM("RdmaSocket, one JVM", () -> new SocketPeer(true), true, 1),
    RDMA("RdmaSocket", () -> new SocketPeer(true), true, Contender.MANY),
    AERON("Aeron IPC, spinning", AeronPeer::new, false, 1),
    RDMA_SPINNING("RdmaSocket, spinMicros=1000", () -> new SocketPeer(true), true, Contender.MANY),
    /** The same socket whose streams are carried in other ways; those are compared with each other alone. */
    RDMA_MESSAGES("RdmaSocket, SEND_RECEIVE", () -> new SocketPeer(true), true, 1),
    RDMA_READ_RING("RdmaSocket, READ_RING", () -> new SocketPeer(true), true, 1),
    /** Sockets add their cost to this. */
    VERBS("Typed verbs", VerbsPeer::new, false, 1),
    JUCX("JUCX, spinning", JucxPeer::new, false, 1),
    /** Only where there is an RDMA device: {@code librspreload} makes rsockets of the JDK's own sockets. */
    PRELOADED("java.net.Socket under librspreload", () -> new SocketPeer(false), false, 16);

    /** As many as there may be. */
    static final int MANY = 1_000_000;
    private static final String PRELOAD = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so.1";

    private static final List<String> UCX_FOLDERS = List.of("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
            "/usr/lib64");

    private final String title;
    private final Supplier<Peer> peer;
    private final boolean virtual;
    private final int mostConnections;

    Contender(String title, Supplier<Peer> peer, boolean virtual, int mostConnections) {
        this.title = title;
        this.peer = peer;
        this.virtual = virtual;
        this.mostConnections = mostConnections;
    }

    /** The name in tables. */
    String title() {
        return title;
    }

    /** A new peer, for a process. */
    Peer peer() {
        return peer.get();
    }

    /** The threads that read and write. */
    Thread.Builder threads() {
        return virtual ? Thread.ofVirtual() : Thread.ofPlatform();
    }

    /** How many connections it can be asked for. */
    int mostConnections() {
        return mostConnections;
    }

    /** Whether server and client are in one process. */
    boolean oneJvm() {
        return this == RDMA_ONE_JVM;
    }

    /** Whether it can be asked for round trips alone. */
    boolean roundTripOnly() {
        return this == RDMA_ONE_JVM || this == VERBS;
    }

    /** Whether it takes part where all do. */
    boolean isOrdinary() {
        return this != RDMA_MESSAGES && this != RDMA_READ_RING;
    }

    /** Whether it is a socket on virtual threads between two processes, the JDK's or ours, as its users have it. */
    boolean isSocket() {
        return this == PLAIN || this == RDMA_PARKING || this == RDMA;
    }

    /** Whether this machine has what it needs: JUCX brings its JNI library, but not UCX itself. */
    boolean isHere() {
        return this != JUCX || UCX_FOLDERS.stream().anyMatch(folder -> Files.exists(Path.of(folder, "libucp.so.0")));
    }

    /** The program in C that waits in the same way, on a device, for a round trip. */
    Optional<NativeTool> rival() {
        return switch (this) {
            case RDMA_SPINNING -> Optional.of(NativeTool.RSTREAM_POLLING);
            case RDMA_PARKING -> Optional.of(NativeTool.RSTREAM_BLOCKING);
            case VERBS -> Optional.of(NativeTool.WRITE_LATENCY);
            default -> Optional.empty();
        };
    }

    /** Options of its JVMs. */
    List<String> jvmOptions() {
        return switch (this) {
            case RDMA_PARKING -> List.of("-Dorg.rdmasockets.spinMicros=0");
            case RDMA_MESSAGES -> List.of("-Dorg.rdmasockets.streamKind=send-receive");
            case RDMA_READ_RING -> List.of("-Dorg.rdmasockets.streamKind=read-ring");
            case RDMA_SPINNING -> List.of("-Dorg.rdmasockets.spinMicros=1000");
            case AERON -> List.of("--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
                    "--add-opens=java.base/java.util.zip=ALL-UNNAMED");
            // rsockets has no sockets that are both IPv4 and IPv6.
            case PRELOADED -> List.of("-Djava.net.preferIPv4Stack=true");
            default -> List.of();
        };
    }

    /** Variables of its processes' environment. */
    Map<String, String> environment() {
        return switch (this) {
            case PRELOADED -> Map.of("LD_PRELOAD", PRELOAD);
            // TCP to connect, shared memory for the data.
            case JUCX -> Map.of("UCX_TLS", "shm,tcp", "UCX_LOG_LEVEL", "fatal");
            default -> Map.of();
        };
    }
}
