package org.rdmasockets.grpc;

import io.grpc.Codec;
import io.grpc.Compressor;
import io.grpc.Decompressor;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/**
 * Messages of one direction of a call whose headers name an encoding. Each begins with a byte more: 1 if it is
 * compressed, else 0.
 */
final class Compression {
    /** The header that names the encoding. */
    static final Metadata.Key<String> ENCODING =
            Metadata.Key.of("grpc-encoding", Metadata.ASCII_STRING_MARSHALLER);
    /** The header by which a client says what it can read, if that is not gRPC's default. */
    static final Metadata.Key<String> ACCEPTED =
            Metadata.Key.of("grpc-accept-encoding", Metadata.ASCII_STRING_MARSHALLER);
    private static final String PLAIN = Codec.Identity.NONE.getMessageEncoding();

    private Compression() {}

    /** Whether an encoding leaves messages as they are: null, or "identity". */
    static boolean isPlain(String encoding) {
        return encoding == null || encoding.equals(PLAIN);
    }

    /** The message as it goes. */
    static byte[] pack(byte[] message, Compressor compressor, boolean compress) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream(compress ? message.length / 2 + 64
                : message.length + 1);
        packed.write(compress ? 1 : 0);
        if (!compress) {
            packed.write(message);
            return packed.toByteArray();
        }
        try (OutputStream to = compressor.compress(packed)) {
            to.write(message);
        }
        return packed.toByteArray();
    }

    /**
     * The message as it was, of at most so many bytes: a short one may be made to grow.
     *
     * @throws StatusException RESOURCE_EXHAUSTED if it is longer, INTERNAL if it is damaged
     */
    static byte[] unpack(byte[] packed, Decompressor decompressor, int most) throws StatusException {
        if (packed.length == 0 || packed[0] < 0 || packed[0] > 1) {
            throw Status.INTERNAL.withDescription("a message of a call with an encoding says not whether it is"
                    + " compressed").asException();
        }
        InputStream rest = new ByteArrayInputStream(packed, 1, packed.length - 1);
        byte[] message;
        try (InputStream from = packed[0] == 1 ? decompressor.decompress(rest) : rest) {
            message = from.readNBytes(most);
            if (from.read() < 0) {
                return message;
            }
        } catch (IOException e) {
            throw Status.INTERNAL.withDescription("a message cannot be decompressed: " + e.getMessage()).withCause(e)
                    .asException();
        }
        throw Status.RESOURCE_EXHAUSTED.withDescription("Decompressed gRPC message exceeds maximum size " + most)
                .asException();
    }
}
