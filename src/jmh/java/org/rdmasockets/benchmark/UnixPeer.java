package org.rdmasockets.benchmark;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/** The JDK's blocking channels over Unix domain sockets. Direct buffers, as the JDK would use under the cover. */
final class UnixPeer implements Peer {
    private static final int BACKLOG = 4096;

    @Override
    public Listener listen() throws IOException {
        Path directory = Files.createTempDirectory("rdma-benchmark");
        Path path = directory.resolve("socket");
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)
                .bind(UnixDomainSocketAddress.of(path), BACKLOG);
        return new Ear(server, path);
    }

    @Override
    public Link connect(String address) throws IOException {
        return new ChannelLink(SocketChannel.open(UnixDomainSocketAddress.of(address)));
    }

    /** A buffer that is large enough. */
    static ByteBuffer atLeast(ByteBuffer buffer, int bytes) {
        return buffer.capacity() >= bytes ? buffer : ByteBuffer.allocateDirect(bytes);
    }

    /** A listening channel; its address is a path. */
    private record Ear(ServerSocketChannel server, Path path) implements Listener {
        @Override
        public String address() {
            return path.toString();
        }

        @Override
        public Link accept() throws IOException {
            return new ChannelLink(server.accept());
        }

        @Override
        public void close() throws IOException {
            server.close();
            Files.deleteIfExists(path);
            Files.deleteIfExists(path.getParent());
        }
    }

    /** A connected channel with a buffer for each direction, as large as what is read and written. */
    private static final class ChannelLink implements Link {
        private final SocketChannel channel;
        private ByteBuffer input = ByteBuffer.allocateDirect(64);
        private ByteBuffer output = ByteBuffer.allocateDirect(64);

        ChannelLink(SocketChannel channel) {
            this.channel = channel;
        }

        @Override
        public void write(byte[] message) throws IOException {
            output = atLeast(output, message.length);
            output.clear().put(message).flip();
            while (output.hasRemaining()) {
                channel.write(output);
            }
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            input = atLeast(input, length);
            int count = channel.read(input.clear().limit(length));
            if (count > 0) {
                input.flip().get(into, offset, count);
            }
            return count;
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
