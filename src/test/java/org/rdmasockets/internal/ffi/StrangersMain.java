package org.rdmasockets.internal.ffi;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * Another user who attacks a listener, on two threads: {@code burn SECONDS} takes the processors only; {@code attack
 * SECONDS PORT FILE} takes names, floods the listener's name, passes descriptors whose close lasts, and leaves
 * conversations half done.
 */
public final class StrangersMain {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    /** So many connections that say nothing are open at once. */
    private static final int SILENT = 100;

    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong connected = new AtomicLong();
    private final AtomicLong passed = new AtomicLong();
    private final AtomicLong halfDone = new AtomicLong();
    private final long end;

    private StrangersMain(long seconds) {
        end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    }

    /** Attacks, and says what it did. */
    public static void main(String[] arguments) throws Exception {
        StrangersMain strangers = new StrangersMain(Long.parseLong(arguments[1]));
        boolean burns = arguments[0].equals("burn");
        Thread other = Thread.ofPlatform().daemon().start(() -> strangers.halfHandshakes(
                burns ? 0 : Integer.parseInt(arguments[2])));
        if (burns) {
            strangers.burn();
        } else {
            strangers.names(arguments[3]);
            strangers.flood(Path.of(arguments[3]));
        }
        other.join(TimeUnit.SECONDS.toMillis(30));
        System.out.println("done: user " + PacketSocket.ownUser() + ", " + strangers.refused + " connects refused by"
                + " the kernel, " + strangers.connected + " by the hub, " + strangers.passed + " descriptors passed, "
                + strangers.halfDone + " silent TCP connections");
        System.exit(0);
    }

    private boolean goesOn() {
        return System.nanoTime() - end < 0;
    }

    private void burn() {
        while (goesOn()) {
            Thread.onSpinWait();
        }
    }

    /** Takes the names of this and of other listeners in every place. */
    private void names(String file) {
        Path directory = Path.of(file).getParent();
        for (String place : List.of("/dev/shm", "/tmp")) {
            for (int user = 0; user < 3; user++) {
                String name = directory.getFileName().toString().replaceFirst("-\\d+-", "-" + user + "-");
                Path taken = Path.of(place, name);
                try {
                    Files.createDirectory(taken);
                    taken.toFile().deleteOnExit();
                } catch (IOException e) {
                    continue; // it is there
                }
            }
        }
        for (String name : List.of(Path.of(file).getFileName().toString(), "*-80", "*-" + file.replaceAll(".*-", ""))) {
            try {
                SocketDirectory.own().listen(name, 8).close();
            } catch (VerbsException e) {
                System.out.println("not taken: " + e.getMessage());
            }
        }
    }

    private void flood(Path file) throws Exception {
        try (ServerSocket sink = new ServerSocket(0, 50, LOOPBACK)) {
            int lingering = Descriptors.lingering(sink.getLocalPort());
            PacketBuffer buffer = new PacketBuffer();
            ArrayDeque<PacketSocket> silent = new ArrayDeque<>();
            for (long i = 0; goesOn(); i++) {
                try {
                    PacketSocket socket = PacketSocket.connect(file.toString());
                    connected.incrementAndGet();
                    if (i % 2 == 0 && socket.send(buffer, 40, lingering) == 0) {
                        passed.incrementAndGet();
                    }
                    silent.add(socket);
                } catch (VerbsException e) {
                    refused.incrementAndGet();
                    if (e.errno() == Errno.EAGAIN) {
                        Thread.sleep(1);
                    }
                }
                if (silent.size() > SILENT) {
                    silent.poll().close();
                }
            }
        }
    }

    private void halfHandshakes(int port) {
        if (port == 0) {
            burn();
            return;
        }
        List<Socket> open = new ArrayList<>();
        while (goesOn()) {
            try {
                Socket socket = new Socket();
                socket.connect(new InetSocketAddress(LOOPBACK, port), 1000);
                halfDone.incrementAndGet();
                open.add(socket);
                if (open.size() == SILENT) {
                    for (Socket silent : open) {
                        silent.close();
                    }
                    open.clear();
                }
            } catch (IOException e) {
                Thread.yield();
            }
        }
    }
}
