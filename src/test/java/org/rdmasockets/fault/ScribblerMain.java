package org.rdmasockets.fault;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A hostile process: it connects through the library as any program does, lets data flow, and meanwhile overwrites the
 * memory that it shares with the other process, whatever it is for: rings, control words, the streams' buffers. Once
 * its connections are broken it makes new ones. If it overwrites an answer before it has read it, it waits in vain, by
 * its own fault; so it ends then, and the next process must be served as if nothing had happened.
 */
final class ScribblerMain {
    private static final int CONNECTIONS = 3;
    private static final int CONNECT_MILLIS = 10_000;
    private static final int MAX_BYTES = 4_096;
    private static final int PAGE_BYTES = 4_096;
    private static final int LINE_BYTES = 64;
    private static final int WRITES_PER_LOOK = 200;
    /** An attack that breaks nothing ends some time. */
    private static final int MAX_LOOKS = 200;

    /** Memory from one address to another. */
    private record Range(long start, long end) {
        private static Range parse(String line) {
            String[] addresses = line.substring(0, line.indexOf(' ')).split("-");
            return new Range(Long.parseUnsignedLong(addresses[0], 16), Long.parseUnsignedLong(addresses[1], 16));
        }
    }

    private final int port;
    private final Random random = new Random(1);
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(MAX_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    /** Writes there fail, and do not end the process, where the library has given memory back. */
    private final FileChannel memory = FileChannel.open(Path.of("/proc/self/mem"), StandardOpenOption.WRITE);
    private long writes;

    private ScribblerMain(int port) throws IOException {
        this.port = port;
    }

    /**
     * Runs and prints what it did.
     *
     * @param arguments port of the victim, how many seconds; fewer if it makes itself deaf
     */
    static void main(String[] arguments) throws Exception {
        ScribblerMain scribbler = new ScribblerMain(Integer.parseInt(arguments[0]));
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(arguments[1]));
        int attacks = 0;
        int broken = 0;
        try {
            while (System.nanoTime() < deadline) {
                broken += scribbler.attack() ? 1 : 0;
                attacks++;
            }
        } catch (SocketTimeoutException e) {
            if (attacks == 0) {
                throw e; // without an overwrite the server must serve
            }
        }
        System.out.println("done: " + attacks + " " + broken + " " + scribbler.writes);
        Runtime.getRuntime().halt(scribbler.writes == 0 ? 1 : 0);
    }

    /** Whether all connections broke. */
    private boolean attack() throws IOException {
        List<Socket> sockets = new ArrayList<>();
        List<Attempt> traffic = new ArrayList<>();
        try {
            for (int i = 0; i < CONNECTIONS; i++) {
                Socket socket = Neighbours.connect(port, CONNECT_MILLIS);
                sockets.add(socket);
                traffic.add(Attempt.start("writer", () -> sendForEver(socket.getOutputStream())));
                traffic.add(Attempt.start("reader", () -> (int) socket.getInputStream()
                        .transferTo(OutputStream.nullOutputStream())));
            }
            return scribbleUntilBroken(traffic);
        } catch (SocketTimeoutException e) {
            throw e;
        } catch (IOException e) {
            return false; // the last attack's overwrites have broken this connection
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    private boolean scribbleUntilBroken(List<Attempt> traffic) throws IOException {
        long choice = random.nextLong() | 1;
        long pauseNanos = random.nextInt(4) * 20_000L;
        for (int look = 0; look < MAX_LOOKS; look++) {
            List<Range> all = shared();
            List<Range> half = all.stream().filter(range -> (range.start() * choice & 1 << 20) == 0).toList();
            List<Range> ranges = half.isEmpty() ? all : half;
            for (int i = 0; i < WRITES_PER_LOOK && !ranges.isEmpty(); i++) {
                scribble(ranges.get(random.nextInt(ranges.size())));
                LockSupport.parkNanos(pauseNanos);
            }
            if (traffic.stream().allMatch(Attempt::isOver)) {
                return true;
            }
            Thread.yield();
        }
        return false;
    }

    /** All that is shared with another process and may be written. */
    private static List<Range> shared() throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains("memfd:rdma-sockets") && line.contains(" rw-s "))
                    .map(Range::parse).toList();
        }
    }

    /** Mostly control words at the start of a range, with numbers that may mean something. */
    private void scribble(Range range) {
        long length = range.end() - range.start();
        boolean control = random.nextInt(3) > 0;
        long offset = control ? random.nextLong(Math.min(length, 2 * PAGE_BYTES) / LINE_BYTES) * LINE_BYTES
                : random.nextLong(length / Long.BYTES) * Long.BYTES;
        int bytes = random.nextInt(20) == 0 ? (int) Math.min(MAX_BYTES, length - offset) : Long.BYTES;
        buffer.clear();
        while (buffer.position() < bytes) {
            buffer.putLong(random.nextBoolean() ? random.nextLong() : random.nextInt(5000) * 64L);
        }
        try {
            memory.write(buffer.flip(), range.start() + offset);
            writes++;
        } catch (IOException e) {
            return; // unmapped since the last look
        }
    }

    private static int sendForEver(OutputStream out) throws IOException {
        while (true) {
            out.write(SoakTraffic.CONTENT, 0, MAX_BYTES);
        }
    }
}
