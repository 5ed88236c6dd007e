package org.rdmasockets.grpc;

import io.grpc.KnownLength;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.internal.lock.LibraryThreads;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.rpc.RpcException;
import org.rdmasockets.rpc.RpcMetadata;
import org.rdmasockets.internal.rpc.call.CallStream;
import org.rdmasockets.internal.rpc.call.Frame;

/** Messages, metadata and status of gRPC as those of {@code org.rdmasockets.rpc}, and back. */
final class Encoding {
    private static final LimitedLog FAILURES = new LimitedLog(new Log(Encoding.class));
    /** Entries that no metadata of an application can have. */
    static final String AUTHORITY = ":authority";
    /** How many entries the headers of most calls have: that, and the next. */
    static final int OWN_HEADERS = 2;
    /** The only header of most calls. */
    private static final Metadata.Key<String> USER_AGENT =
            Metadata.Key.of("user-agent", Metadata.ASCII_STRING_MARSHALLER);
    /** The rest of a call's deadline when the call reaches its server. */
    static final Metadata.Key<String> TIMEOUT = Metadata.Key.of("grpc-timeout", Metadata.ASCII_STRING_MARSHALLER);
    /** Headers that a channel sets, and no call. */
    static final List<Metadata.Key<String>> RESERVED = List.of(Compression.ENCODING, TIMEOUT, USER_AGENT,
            Metadata.Key.of("content-type", Metadata.ASCII_STRING_MARSHALLER),
            Metadata.Key.of("content-length", Metadata.ASCII_STRING_MARSHALLER),
            Metadata.Key.of("content-encoding", Metadata.ASCII_STRING_MARSHALLER),
            Metadata.Key.of("te", Metadata.ASCII_STRING_MARSHALLER));
    /** Trailers that a server sets by the status alone. */
    static final List<Metadata.Key<String>> STATUS = List.of(
            Metadata.Key.of("grpc-status", Metadata.ASCII_STRING_MARSHALLER),
            Metadata.Key.of("grpc-message", Metadata.ASCII_STRING_MARSHALLER));
    private static final long MOST_TIMEOUT = 100_000_000;
    /** The one that runs what it is given at once. */
    static final Executor DIRECT = Runnable::run;

    /** Executors that are the default: a virtual thread for each task, with the maker's context class loader. */
    static final class Virtual implements Executor {
        private final ClassLoader context = Thread.currentThread().getContextClassLoader();

        @Override
        public void execute(Runnable task) {
            LibraryThreads.start("rdma-grpc", context, task);
        }
    }

    private Encoding() {}

    /** Calls are not encrypted, at either end. */
    static UnsupportedOperationException notEncrypted() {
        return new UnsupportedOperationException("calls are not encrypted; for TLS use gRPC's OkHttp transport with"
                + " RdmaSocketFactory and RdmaServerSocketFactory");
    }

    /** The refusal of a setting that has no meaning over RDMA. */
    static UnsupportedOperationException refused(String why) {
        return new UnsupportedOperationException(why);
    }

    /** Refuses a time of a builder that is none. */
    static void longerThanNothing(long value, TimeUnit unit) {
        Objects.requireNonNull(unit);
        if (value <= 0) {
            throw new IllegalArgumentException("the time has to be longer than nothing, not " + value + " " + unit);
        }
    }

    /** Refuses an authority that is none. */
    static String authority(String name) {
        try {
            if (new URI(null, name, null, null, null).getAuthority() != null) {
                return name;
            }
        } catch (URISyntaxException e) {
            throw new IllegalArgumentException("Invalid authority: " + name, e);
        }
        throw new IllegalArgumentException("Invalid authority: " + name);
    }

    /** The bytes of metadata that this end takes: no more than travel. */
    static int maxMetadata(int bytes) {
        if (bytes < 1 || bytes > Frame.MAX_METADATA) {
            throw new IllegalArgumentException("metadata of a call have 1 to " + Frame.MAX_METADATA
                    + " bytes over RDMA, not " + bytes);
        }
        return bytes;
    }

    /** Metadata of a peer; throws if they are longer than this end takes, or are damaged. */
    static RpcMetadata arrived(byte[] block, int most) throws StatusException {
        if (block != null && block.length > most) {
            throw Status.RESOURCE_EXHAUSTED.withDescription("metadata of " + block.length + " bytes exceed the maximum"
                    + " of " + most).asException();
        }
        try {
            return RpcMetadata.decode(block);
        } catch (IllegalArgumentException e) {
            throw Status.INTERNAL.withDescription("the headers are none of gRPC's: " + e.getMessage()).asException();
        }
    }

    /** The same of metadata that were decoded already. */
    static Metadata metadata(RpcMetadata arrived, int most) throws StatusException {
        if (most < Frame.MAX_METADATA) { // no longer ones travel
            byte[] block = arrived.encode();
            arrived(block, most);
        }
        return metadata(arrived);
    }

    /** The rest of a deadline, as gRPC's headers say it: at most eight digits, and a unit. */
    static String timeout(long nanos) {
        long value = Math.max(nanos, 0);
        if (value < MOST_TIMEOUT) {
            return value + "n";
        }
        if (value / 1_000 < MOST_TIMEOUT) {
            return value / 1_000 + "u";
        }
        if (value / 1_000_000 < MOST_TIMEOUT) {
            return value / 1_000_000 + "m";
        }
        return value / 1_000_000_000 < MOST_TIMEOUT ? value / 1_000_000_000 + "S"
                : value / 1_000_000_000 / 60 + "M";
    }

    static byte[] bytes(InputStream message) throws IOException {
        try (message) {
            if (!(message instanceof KnownLength)) {
                return message.readAllBytes();
            }
            byte[] bytes = new byte[message.available()];
            int read = message.readNBytes(bytes, 0, bytes.length);
            if (read < bytes.length || message.read() >= 0) {
                throw new IOException("a message of a known length of " + bytes.length + " bytes has another");
            }
            return bytes;
        }
    }

    static InputStream message(byte[] bytes) {
        return new Message(bytes);
    }

    /** Protobuf reads what has a known length in one piece. */
    private static final class Message extends ByteArrayInputStream implements KnownLength {
        Message(byte[] bytes) {
            super(bytes);
        }
    }

    /** Metadata as they travel, after entries that go first. */
    static RpcMetadata metadata(List<RpcMetadata.Entry> first, Metadata metadata) {
        List<RpcMetadata.Entry> entries = new ArrayList<>(first);
        for (String key : metadata.keys()) {
            if (key.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
                for (byte[] value : metadata.getAll(Metadata.Key.of(key, Metadata.BINARY_BYTE_MARSHALLER))) {
                    entries.add(new RpcMetadata.Entry(key, value));
                }
            } else {
                for (String value : metadata.getAll(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER))) {
                    RpcMetadata.Entry text = entry(key, value);
                    if (isPrintable(text.value())) {
                        entries.add(text);
                    } else {
                        FAILURES.warn("metadata {} are left out: their value is not printable ASCII", key);
                    }
                }
            }
        }
        return RpcMetadata.of(entries);
    }

    /** A line feed, say, could be a line of its own in the peer's log. */
    private static boolean isPrintable(byte[] text) {
        for (byte one : text) {
            if (one < ' ' || one > '~') {
                return false;
            }
        }
        return true;
    }

    static RpcMetadata.Entry entry(String key, String value) {
        return new RpcMetadata.Entry(key, value.getBytes(StandardCharsets.US_ASCII));
    }

    /** Metadata of a peer; IllegalArgumentException if a key is none of gRPC's. */
    static Metadata metadata(RpcMetadata arrived) {
        Metadata metadata = new Metadata();
        for (RpcMetadata.Entry entry : arrived.entries()) {
            String key = entry.key();
            if (key.endsWith(Metadata.BINARY_HEADER_SUFFIX)) {
                metadata.put(Metadata.Key.of(key, Metadata.BINARY_BYTE_MARSHALLER), entry.value());
            } else if (!key.equals(AUTHORITY)) {
                metadata.put(key.equals(USER_AGENT.originalName()) ? USER_AGENT
                        : Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER),
                        new String(entry.value(), StandardCharsets.US_ASCII));
            }
        }
        return metadata;
    }

    /** Ends a call at its server by nothing but a status. */
    static void finish(CallStream call, Status status) {
        String text = status.getDescription();
        call.finish(status.getCode().value(), text == null ? "" : text, null, null);
    }

    /** How a call failed. */
    static Status status(RpcException failure) {
        String text = failure.getMessage();
        Status status = Status.fromCodeValue(failure.status().ordinal()).withCause(failure.getCause());
        return text.isEmpty() ? status : status.withDescription(text);
    }
}
