package org.rdmasockets.benchmark;

import io.aeron.Aeron;
import io.aeron.CommonContext;
import io.aeron.Image;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.aeron.logbuffer.FragmentHandler;
import io.aeron.logbuffer.Header;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.SleepingMillisIdleStrategy;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Aeron over shared memory, both sides spinning: about the least that two JVMs need to hand each other bytes. It takes
 * a processor for each side, and has one connection. Its media driver, in the server, sleeps: it is not on the path.
 */
final class AeronPeer implements Peer {
    private static final String IPC = "aeron:ipc";
    private static final int TO_SERVER = 10;
    private static final int TO_CLIENT = 11;
    private static final int TERM_BYTES = 64 * 1024 * 1024;
    /** The largest that Aeron allows, so that large messages make few fragments. */
    private static final int FRAGMENT_BYTES = 65_504;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private MediaDriver driver;
    private Aeron aeron;

    @Override
    public Listener listen() {
        driver = MediaDriver.launchEmbedded(new MediaDriver.Context().threadingMode(ThreadingMode.SHARED)
                .sharedIdleStrategy(new SleepingMillisIdleStrategy(1)).ipcTermBufferLength(TERM_BYTES)
                .ipcMtuLength(FRAGMENT_BYTES).dirDeleteOnShutdown(true)
                .aeronDirectoryName(CommonContext.generateRandomDirName()));
        aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(driver.aeronDirectoryName()));
        Publication publication = aeron.addPublication(IPC, TO_CLIENT);
        Subscription subscription = aeron.addSubscription(IPC, TO_SERVER);
        return new Ear(driver.aeronDirectoryName(), publication, subscription);
    }

    @Override
    public Link connect(String address) throws IOException {
        if (aeron == null) {
            aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(address));
        }
        Publication publication = aeron.addPublication(IPC, TO_SERVER);
        return new AeronLink(publication, aeron.addSubscription(IPC, TO_CLIENT));
    }

    @Override
    public void close() {
        if (aeron != null) {
            aeron.close();
        }
        if (driver != null) {
            driver.close();
        }
    }

    private static void spinUntil(BooleanSupplier condition, String what) throws IOException {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - start > PATIENCE_NANOS) {
                throw new IOException("Aeron: " + what + " took too long");
            }
            Thread.onSpinWait();
        }
    }

    /** The server's end, which serves one client after the other. */
    private record Ear(String address, Publication publication, Subscription subscription) implements Listener {
        @Override
        public Link accept() throws IOException {
            while (!subscription.isConnected()) {
                Thread.onSpinWait();
            }
            return new ServerLink(publication, subscription);
        }

        @Override
        public void close() {
            publication.close();
            subscription.close();
        }
    }

    /** The server's end of a connection: what it is made of serves the next client, too. */
    private static final class ServerLink extends AeronLink {
        ServerLink(Publication publication, Subscription subscription) throws IOException {
            super(publication, subscription);
        }

        @Override
        public void close() throws IOException {
            spinUntil(image::isClosed, "the end of the client");
        }
    }

    /** A publication out and an image in. */
    private static class AeronLink implements Link {
        /** The incoming stream. */
        final Image image;
        private final Publication publication;
        private final Subscription subscription;
        private final UnsafeBuffer output = new UnsafeBuffer(0, 0);
        private final FragmentHandler handler = this::take;
        /** Where the fragment being read goes. */
        private byte[] target;
        private int targetOffset;
        private int targetBytes;
        private int taken;

        AeronLink(Publication publication, Subscription subscription) throws IOException {
            this.publication = publication;
            this.subscription = subscription;
            spinUntil(() -> publication.isConnected() && subscription.imageCount() > 0, "connecting");
            image = subscription.imageAtIndex(0);
        }

        @Override
        public void write(byte[] message) throws IOException {
            output.wrap(message);
            while (publication.offer(output) < 0) {
                if (!publication.isConnected()) {
                    throw new IOException("the other end closed");
                }
                Thread.onSpinWait();
            }
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            target = into;
            targetOffset = offset;
            targetBytes = length;
            while (image.poll(handler, 1) == 0) {
                if (image.isClosed()) {
                    return -1;
                }
                Thread.onSpinWait();
            }
            return taken;
        }

        private void take(DirectBuffer buffer, int offset, int length, Header header) {
            // Both sides use messages of one size, so a fragment never has more than the reader wants.
            taken = length <= targetBytes ? length : -1;
            if (taken > 0) {
                buffer.getBytes(offset, target, targetOffset, length);
            }
        }

        @Override
        public void close() throws IOException {
            publication.close();
            subscription.close();
        }
    }
}
