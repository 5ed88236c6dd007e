package org.rdmasockets.far;

import java.io.IOException;
import java.io.InputStream;
import java.io.Serializable;
import java.util.Arrays;

/** An input stream of the other JVM. */
final class FarInputStream extends InputStream {
    private final Far<InputStream> far;

    FarInputStream(Far<InputStream> far) {
        this.far = far;
    }

    /** The result of a read, and the bytes if there are any. */
    private record Piece(int count, byte[] bytes) implements Serializable {
        static Piece read(InputStream in, int arrayLength, int offset, int length) throws IOException {
            byte[] array = arrayLength < 0 ? null : new byte[arrayLength];
            int count = in.read(array, offset, length);
            return new Piece(count, count <= 0 ? new byte[0] : Arrays.copyOfRange(array, offset, offset + count));
        }
    }

    @Override
    public int read() throws IOException {
        return far.ask(in -> in.read());
    }

    /** Reads there into an array of the same length, so that the arguments are checked there. */
    @Override
    public int read(byte[] array, int offset, int length) throws IOException {
        int arrayLength = array == null ? -1 : array.length;
        Piece piece = far.ask(in -> Piece.read(in, arrayLength, offset, length));
        if (piece.count > 0) {
            System.arraycopy(piece.bytes, 0, array, offset, piece.count);
        }
        return piece.count;
    }

    /** One call: the real stream reads again and again there. */
    @Override
    public byte[] readNBytes(int length) throws IOException {
        return far.ask(in -> in.readNBytes(length));
    }

    /** One call, as above. */
    @Override
    public byte[] readAllBytes() throws IOException {
        return far.ask(in -> in.readAllBytes());
    }

    @Override
    public int available() throws IOException {
        return far.ask(in -> in.available());
    }

    @Override
    public void close() throws IOException {
        far.tell(in -> in.close());
    }
}
