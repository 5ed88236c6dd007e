package org.rdmasockets.fault;

import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.Transport;
import org.rdmasockets.internal.lock.Rescues;

/**
 * One of the two processes of {@link FaultCampaign}, over instrumented classes. The first serves; the second has
 * bystanders, whose every byte is checked, and a victim. Each command is a line, and so is its answer.
 */
final class FaultNode {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final int BYSTANDERS = 20;
    /** Others with calls and datagrams, two of each kind. */
    private static final int CALL_BYSTANDERS = 2 * CallVictims.KINDS.size();
    /** The number of bystanders over TCP, if TCP is used. */
    private static final int OVER_TCP = 5;
    /** Longest wait for anything. */
    private static final int PATIENCE_MILLIS = Integer.getInteger("org.rdmasockets.test.faults.millis", 30_000);
    /** Gives the same to a child. */
    static final String PATIENCE_OPTION = "-Dorg.rdmasockets.test.faults.millis=" + PATIENCE_MILLIS;
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int MAX_FRAME = 20_000;
    /** Longest piece, which a connection takes in before the other end reads. */
    private static final int MAX_PIECE = 30_000;
    private static final int MAX_PIECES = 6;
    /** More than the bursts of a round have errors for one connection. */
    private static final int CLOSE_ATTEMPTS = 50;
    /** Stack of a victim that overflows it, in bytes. */
    private static final int SMALL_STACK = 512 << 10;
    /** How far from the end of its stack a victim begins, at most, in frames. */
    private static final int LAST_FRAMES = 1500;

    /** Before a transport: the victim is at the end of its stack. */
    static final String DEEP = "DEEP-";
    /** Instead of a transport, as are those of {@link CallVictims}: a victim with an endpoint. */
    static final String ENDPOINT = "ENDPOINT";

    private final boolean overTcp;
    private int port;
    private int victimPort;
    private int endpointPort;
    /** By their kinds. */
    private int[] callPorts;
    private int bystanders;
    private final AtomicLongArray progress = new AtomicLongArray(BYSTANDERS + CALL_BYSTANDERS);
    /** Why a bystander has ended, or null. */
    private final String[] ended = new String[BYSTANDERS + CALL_BYSTANDERS];
    private int deepest;

    private FaultNode(boolean overTcp) {
        this.overTcp = overTcp;
    }

    /**
     * Obeys until it is killed.
     *
     * @param arguments whether TCP is on, and a file of points and the classes that are used there
     */
    static void main(String[] arguments) throws Exception {
        FaultNode node = new FaultNode(Boolean.parseBoolean(arguments[0]));
        InjectedFault.watch(true);
        for (String line : Files.readAllLines(Path.of(arguments[1]))) {
            String[] words = line.split(" ");
            InjectedFault.used(Integer.parseInt(words[0]), words[1]);
        }
        InjectedFault.watchLoading(true);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String answer;
            try {
                answer = node.obey(line.split(" "));
            } catch (Throwable e) {
                answer = "FAILED " + line + ": " + text(e);
            }
            System.out.println("= " + answer.replace('\n', ' '));
        }
        LockSupport.park(); // SIGTERM ends it
    }

    private String obey(String[] words) throws Exception {
        return switch (words[0]) {
            case "serve" -> {
                serve();
                yield port + " " + victimPort;
            }
            case "connect" -> {
                port = Integer.parseInt(words[1]);
                victimPort = Integer.parseInt(words[2]);
                yield "known";
            }
            case "serveEndpoints" -> "" + EndpointVictim.serve(Duration.ofMillis(PATIENCE_MILLIS));
            case "endpointsAt" -> {
                endpointPort = Integer.parseInt(words[1]);
                yield "known";
            }
            case "serveCalls" -> CallVictims.serve();
            case "callsAt" -> {
                callPorts = Arrays.stream(words).skip(1).mapToInt(Integer::parseInt).toArray();
                yield "known";
            }
            case "bystanders" -> startBystanders(BYSTANDERS);
            case "callBystanders" -> startBystanders(BYSTANDERS + CALL_BYSTANDERS);
            case "arm" -> {
                InjectedFault.arm(InjectedFault.Plan.of(words));
                yield "armed";
            }
            case "disarm" -> InjectedFault.disarm();
            case "seen" -> Arrays.stream(InjectedFault.Side.values()).map(FaultNode::seen)
                    .collect(Collectors.joining(" "));
            case "held" -> held();
            case "rescues" -> Rescues.places().toString();
            case "round" -> round(Long.parseLong(words[1]), List.of(words).subList(2, words.length));
            case "probe" -> probe();
            case "dump" -> dump();
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static String seen(InjectedFault.Side side) {
        byte[] seen = InjectedFault.seen(side);
        BitSet bits = new BitSet();
        for (int i = 0; i < seen.length; i++) {
            bits.set(i, seen[i] != 0);
        }
        return "x" + HexFormat.of().formatHex(bits.toByteArray());
    }

    private static String held() throws IOException {
        System.gc();
        long threads = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("rdma-")).count();
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return descriptors() + " "
                    + maps.filter(line -> line.contains("memfd:")).count() + " " + threads;
        }
    }

    /** All but those of memory, which is counted by its mappings. */
    private static long descriptors() throws IOException {
        long count = 0;
        for (String descriptor : new File("/proc/self/fd").list()) {
            try {
                Path target = Files.readSymbolicLink(Path.of("/proc/self/fd", descriptor));
                count += target.toString().startsWith("/memfd:") ? 0 : 1;
            } catch (NoSuchFileException e) {
                continue; // that of the listing, or one that was just closed
            }
        }
        return count;
    }

    // The serving process.

    private void serve() throws IOException {
        ServerSocket forBystanders = listen();
        ServerSocket forVictims = listen();
        port = forBystanders.getLocalPort();
        victimPort = forVictims.getLocalPort();
        accept(forBystanders, "bystanders");
        accept(forVictims, InjectedFault.VICTIM);
    }

    private static void accept(ServerSocket server, String name) {
        Thread.ofPlatform().daemon().name(name + ", accepted").start(() -> {
            while (true) {
                try {
                    Socket socket = server.accept();
                    Thread.ofVirtual().name(name).start(() -> echo(socket));
                } catch (Throwable e) {
                    System.err.println("accept failed: " + text(e));
                }
            }
        });
    }

    private ServerSocket listen() throws IOException {
        RdmaServerSocket server = new RdmaServerSocket();
        server.setOption(RdmaSocketOptions.TRANSPORT, overTcp ? Transport.AUTO : Transport.SHARED_MEMORY);
        server.bind(new InetSocketAddress(LOOPBACK, 0), 200);
        return server;
    }

    /** As an application does that catches everything. */
    private static void echo(Socket socket) {
        byte[] buffer = new byte[8192];
        try {
            InputStream in = socket.getInputStream();
            OutputStream out = socket.getOutputStream();
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                out.write(buffer, 0, count);
            }
        } catch (Throwable e) {
            if (!(e instanceof IOException)) {
                System.err.println("an echo ends: " + text(e));
            }
        } finally {
            close(socket);
        }
    }

    private static void close(Socket socket) {
        for (int attempt = 0; attempt < CLOSE_ATTEMPTS; attempt++) {
            try {
                socket.close();
                return;
            } catch (Throwable e) {
                System.err.println("a close fails: " + text(e));
            }
        }
    }

    // The other one.

    private String startBystanders(int all) throws IOException {
        InjectedFault.watchLoading(false);
        while (bystanders < all) {
            startBystander(bystanders);
            bystanders++;
        }
        return "started";
    }

    private void startBystander(int index) throws IOException {
        if (index >= BYSTANDERS) {
            startCallBystander(index, CallVictims.KINDS.get(index % CallVictims.KINDS.size()));
            return;
        }
        Socket socket = connect(overTcp && index < OVER_TCP ? Transport.TCP : Transport.SHARED_MEMORY, port);
        ended[index] = null;
        Thread.ofVirtual().name("bystander " + index).start(() -> {
            try (socket) {
                DataOutputStream out = new DataOutputStream(socket.getOutputStream());
                DataInputStream in = new DataInputStream(socket.getInputStream());
                Random random = new Random(index);
                for (long sequence = 0;; sequence++) {
                    exchangeFrame(in, out, random, sequence);
                    progress.incrementAndGet(index);
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            } catch (Throwable e) {
                ended[index] = text(e);
            }
        });
    }

    private void startCallBystander(int index, String kind) throws IOException {
        CallVictims.Talker talker = CallVictims.open(kind, callPort(kind), Duration.ofMillis(PATIENCE_MILLIS));
        ended[index] = null;
        Thread.ofVirtual().name("bystander " + index).start(() -> {
            try {
                Random random = new Random(index);
                while (true) {
                    talker.exchange(random);
                    progress.incrementAndGet(index);
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            } catch (Throwable e) {
                CallVictims.close(talker);
                ended[index] = kind + " " + text(e).replace(';', ','); // a bystander is told until the next of these
            }
        });
    }

    private int callPort(String kind) {
        return callPorts[CallVictims.KINDS.indexOf(kind)];
    }

    private static void exchangeFrame(DataInputStream in, DataOutputStream out, Random random, long sequence)
            throws IOException {
        byte[] frame = new byte[20 + random.nextInt(1 + random.nextInt(MAX_FRAME))];
        random.nextBytes(frame);
        CRC32 crc = new CRC32();
        crc.update(frame, 16, frame.length - 16);
        ByteBuffer.wrap(frame).putLong(sequence).putInt(frame.length).putInt((int) crc.getValue());
        out.write(frame);
        byte[] back = new byte[frame.length];
        in.readFully(back);
        if (!Arrays.equals(frame, back)) {
            throw new IOException("WRONG BYTES in frame " + sequence);
        }
    }

    private static Socket connect(Transport transport, int to) throws IOException {
        RdmaSocket socket = new RdmaSocket();
        try {
            socket.setOption(RdmaSocketOptions.TRANSPORT, transport);
            socket.connect(new InetSocketAddress(LOOPBACK, to), PATIENCE_MILLIS);
            socket.setSoTimeout(PATIENCE_MILLIS);
            return socket;
        } catch (Throwable e) {
            close(socket);
            throw e;
        }
    }

    /** The work of victims at the same time, each over a transport or at the end of its stack, and how they fare. */
    private String round(long seed, List<String> transports) throws Exception {
        if (deepest == 0) {
            Thread.ofPlatform().stackSize(SMALL_STACK).start(() -> deepest = measure()).join();
        }
        int count = transports.size();
        String[] outcomes = new String[count];
        Thread[] victims = new Thread[count];
        for (int i = 0; i < count; i++) {
            int index = i;
            Random random = new Random(seed + i);
            boolean deep = transports.get(i).startsWith(DEEP);
            String transport = deep ? transports.get(i).substring(DEEP.length()) : transports.get(i);
            int depth = deep ? Math.max(1, deepest - random.nextInt(LAST_FRAMES)) : 0;
            Runnable work = () -> outcomes[index] = fare(transport, random);
            if (depth == 0) {
                victims[i] = ((seed + i & 1) == 0 ? Thread.ofVirtual() : Thread.ofPlatform().daemon())
                        .name(InjectedFault.VICTIM).start(work);
            } else {
                victims[i] = Thread.ofPlatform().daemon().stackSize(SMALL_STACK).name("deep").start(() -> {
                    try {
                        descend(depth, work);
                    } catch (StackOverflowError e) {
                        outcomes[index] = "failed below: " + text(e);
                    }
                });
            }
        }
        for (int i = 0; i < count; i++) {
            if (!victims[i].join(Duration.ofMillis(2 * PATIENCE_MILLIS))) {
                outcomes[i] = "STUCK, see " + dump();
            }
        }
        return String.join("|", outcomes);
    }

    private static int measure() {
        int[] depth = new int[1];
        try {
            count(depth);
        } catch (StackOverflowError e) {
            return depth[0];
        }
        return depth[0];
    }

    private static int count(int[] depth) {
        depth[0]++;
        return count(depth) + 1;
    }

    private static int descend(int depth, Runnable work) {
        if (depth == 0) {
            work.run();
            return 0;
        }
        return descend(depth - 1, work) + 1;
    }

    private String fare(String transport, Random random) {
        if (transport.equals(ENDPOINT)) {
            return EndpointVictim.fare(endpointPort, random.nextInt(), Duration.ofMillis(PATIENCE_MILLIS));
        }
        if (CallVictims.KINDS.contains(transport)) {
            return CallVictims.fare(transport, callPort(transport), random, Duration.ofMillis(PATIENCE_MILLIS));
        }
        Socket socket = null;
        try {
            socket = new RdmaSocket();
            ((RdmaSocket) socket).setOption(RdmaSocketOptions.TRANSPORT, switch (transport) {
                case "TCP" -> Transport.TCP;
                case "AUTO" -> Transport.AUTO;
                default -> Transport.SHARED_MEMORY;
            });
            socket.connect(new InetSocketAddress(LOOPBACK, victimPort), PATIENCE_MILLIS);
            socket.setSoTimeout(PATIENCE_MILLIS);
            return exchange((RdmaSocket) socket, random);
        } catch (SocketTimeoutException e) {
            return "HUNG " + text(e) + dumpQuietly();
        } catch (Throwable e) {
            return "failed: " + text(e);
        } finally {
            if (socket != null) {
                close(socket);
            }
        }
    }

    private static String exchange(RdmaSocket socket, Random random) throws IOException {
        int pieces = random.nextInt(MAX_PIECES);
        InputStream in = socket.getInputStream();
        for (int i = 0; i < pieces; i++) {
            byte[] piece = new byte[1 + random.nextInt(1 + random.nextInt(MAX_PIECE))];
            random.nextBytes(piece);
            if (random.nextInt(4) == 0) {
                ByteBuffer direct = ByteBuffer.allocateDirect(piece.length).put(piece).flip();
                while (direct.hasRemaining()) {
                    socket.write(direct);
                }
            } else {
                socket.getOutputStream().write(piece);
            }
            byte[] back = in.readNBytes(piece.length);
            int mismatch = Arrays.mismatch(piece, back);
            if (mismatch >= 0 && mismatch < back.length) {
                return "WRONG BYTES at " + mismatch;
            }
            if (back.length < piece.length) {
                return "failed: end of stream"; // the other end caught what was injected, and closed
            }
            if (random.nextInt(8) == 0) {
                in.available();
            }
        }
        if (random.nextInt(8) == 0) {
            socket.setSoTimeout(1);
            try {
                in.read();
            } catch (SocketTimeoutException e) {
                socket.setSoTimeout(PATIENCE_MILLIS);
            }
        }
        if (random.nextBoolean()) {
            socket.shutdownOutput();
            if (in.read() >= 0) {
                return "WRONG BYTES after the end";
            }
        }
        return "done";
    }

    /** New connections work over every transport, and every bystander goes on; one that has ended is replaced. */
    private String probe() throws Exception {
        long[] before = new long[bystanders];
        for (int i = 0; i < bystanders; i++) {
            before[i] = progress.get(i);
        }
        try {
            tryOne(connect(Transport.SHARED_MEMORY, port));
            if (overTcp) {
                tryOne(connect(Transport.TCP, port));
                Socket plain = new Socket(LOOPBACK, port);
                plain.setSoTimeout(PATIENCE_MILLIS);
                tryOne(plain);
            }
        } catch (Throwable e) {
            return "BROKEN: no new connection: " + text(e) + ", see " + dump();
        }
        StringBuilder broken = new StringBuilder();
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS);
        for (int i = 0; i < bystanders; i++) {
            while (ended[i] == null && progress.get(i) == before[i] && System.nanoTime() - deadline < 0) {
                LockSupport.parkNanos(PAUSE_NANOS / 5);
            }
            if (ended[i] != null) {
                broken.append(" bystander ").append(i).append(": ").append(ended[i]).append(';');
                startBystander(i);
            } else if (progress.get(i) == before[i]) {
                return "BROKEN: bystander " + i + " stands still, see " + dump();
            }
        }
        return broken.isEmpty() ? "fine" : "LOST" + broken;
    }

    private static void tryOne(Socket socket) throws IOException {
        try (socket) {
            exchangeFrame(new DataInputStream(socket.getInputStream()), new DataOutputStream(socket.getOutputStream()),
                    new Random(), 0);
        }
    }

    private static String dumpQuietly() {
        try {
            return ", see " + dump();
        } catch (IOException e) {
            return ", no dump: " + e;
        }
    }

    /** One at a time: the JDK's dump of a thread that another one dumps has crashed. */
    private static synchronized String dump() throws IOException {
        Path file = Files.createTempFile("faults-", ".threads");
        Files.delete(file);
        ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class).dumpThreads(
                file.toString(), com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat.TEXT_PLAIN);
        return file.toString();
    }

    /** An exception, the frames at its top and its causes. An exception of the library may fail to tell of itself. */
    static String text(Throwable thrown) {
        try {
            return described(thrown);
        } catch (Error e) {
            return thrown.getClass().getName() + ", whose text fails by " + e.getClass().getName();
        }
    }

    private static String described(Throwable thrown) {
        StringBuilder text = new StringBuilder(thrown.toString());
        StackTraceElement[] trace = thrown.getStackTrace();
        for (int i = 0; i < Math.min(6, trace.length); i++) {
            text.append(" < ").append(trace[i].getFileName()).append(':').append(trace[i].getLineNumber());
        }
        for (Throwable cause = thrown.getCause(); cause != null; cause = cause.getCause()) {
            text.append(", caused by ").append(cause);
        }
        return text.toString();
    }
}
