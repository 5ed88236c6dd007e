package org.rdmasockets.rpc;

import java.io.ByteArrayOutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.rdmasockets.internal.rpc.call.Frame;

/**
 * Keys and values beside the messages of a call, in order; a key may come more than once. Immutable.
 *
 * @since 0.1
 */
public final class RpcMetadata {
    /** Nothing. */
    public static final RpcMetadata EMPTY = new RpcMetadata(List.of());

    private static final int MOST_KEY_BYTES = 255;
    private static final int MOST_VALUE_BYTES = 0xFFFF;

    private final List<Entry> entries;

    /**
     * A key and its value.
     *
     * @param key at most 255 bytes of UTF-8
     * @param value any bytes
     * @since 0.1
     */
    public record Entry(String key, byte[] value) {
        /**
         * Copies the value.
         *
         * @param key at most 255 bytes of UTF-8
         * @param value at most 16,000 bytes
         */
        public Entry {
            value = value.clone();
        }

        /** {@return a copy of the value} */
        @Override
        public byte[] value() {
            return value.clone();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Entry that && key.equals(that.key) && Arrays.equals(value, that.value);
        }

        @Override
        public int hashCode() {
            return 31 * key.hashCode() + Arrays.hashCode(value);
        }
    }

    /** Null for no entries, and until the first use; racy, but benign. */
    private volatile byte[] encoded;

    private RpcMetadata(List<Entry> entries) {
        this.entries = entries;
    }

    /**
     * These and one more.
     *
     * @param key at most 255 bytes of UTF-8
     * @param value any bytes
     * @return new metadata
     * @throws IllegalArgumentException if all would be more than 16 KiB
     */
    public RpcMetadata with(String key, byte[] value) {
        List<Entry> more = new ArrayList<>(entries);
        more.add(new Entry(key, value));
        return of(more);
    }

    /**
     * Metadata of entries.
     *
     * @param entries in their order
     * @return the metadata
     * @throws IllegalArgumentException if all would be more than 16 KiB
     */
    public static RpcMetadata of(List<Entry> entries) {
        RpcMetadata all = entries.isEmpty() ? EMPTY : new RpcMetadata(List.copyOf(entries));
        long bytes = 0;
        for (Entry entry : entries) {
            int key = entry.key.getBytes(StandardCharsets.UTF_8).length;
            bytes += key > MOST_KEY_BYTES ? Integer.MAX_VALUE : 3L + key + entry.value.length;
        }
        if (bytes > Frame.MAX_METADATA) {
            throw new IllegalArgumentException("metadata have at most " + Frame.MAX_METADATA + " bytes, a key at most "
                    + MOST_KEY_BYTES + ": " + all);
        }
        return all;
    }

    /**
     * These and one more.
     *
     * @param key at most 255 bytes of UTF-8
     * @param value a text
     * @return new metadata
     * @throws IllegalArgumentException if all would be more than 16 KiB
     */
    public RpcMetadata with(String key, String value) {
        return with(key, value.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * The first value of a key.
     *
     * @param key compared as it is
     * @return a copy; empty if there is none
     */
    public Optional<byte[]> first(String key) {
        for (Entry entry : entries) {
            if (entry.key.equals(key)) {
                return Optional.of(entry.value());
            }
        }
        return Optional.empty();
    }

    /**
     * The first value of a key, as text.
     *
     * @param key compared as it is
     * @return empty if there is none
     */
    public Optional<String> firstText(String key) {
        return first(key).map(bytes -> new String(bytes, StandardCharsets.UTF_8));
    }

    /** {@return all entries in the order in which they were added} */
    public List<Entry> entries() {
        return entries;
    }

    /**
     * The bytes that travel. Each entry: length of the key (1), key, length of the value (2), value.
     *
     * @return null for nothing
     */
    public byte[] encode() {
        byte[] bytes = encoded();
        return bytes == null ? null : bytes.clone();
    }

    /**
     * The same, encoded once, for callers that do not change it: the headers of a channel go with each of its calls.
     */
    byte[] encoded() {
        byte[] known = encoded;
        if (known == null && !entries.isEmpty()) {
            known = encodeEntries();
            encoded = known;
        }
        return known;
    }

    private byte[] encodeEntries() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (Entry entry : entries) {
            byte[] key = entry.key.getBytes(StandardCharsets.UTF_8);
            bytes.write(key.length);
            bytes.writeBytes(key);
            int length = Math.min(entry.value.length, MOST_VALUE_BYTES);
            bytes.write(length >>> 8);
            bytes.write(length);
            bytes.write(entry.value, 0, length);
        }
        return bytes.toByteArray();
    }

    /**
     * Reads what a peer has sent.
     *
     * @param bytes null for nothing
     * @return the metadata
     * @throws IllegalArgumentException if they are damaged
     */
    public static RpcMetadata decode(byte[] bytes) {
        if (bytes == null) {
            return EMPTY;
        }
        List<Entry> all = new ArrayList<>();
        ByteBuffer from = ByteBuffer.wrap(bytes);
        try {
            while (from.hasRemaining()) {
                byte[] key = new byte[from.get() & 0xFF];
                from.get(key);
                byte[] value = new byte[from.getShort() & 0xFFFF];
                from.get(value);
                all.add(new Entry(new String(key, StandardCharsets.UTF_8), value));
            }
        } catch (BufferUnderflowException e) {
            throw new IllegalArgumentException("metadata of " + bytes.length + " bytes end within an entry", e);
        }
        return new RpcMetadata(List.copyOf(all));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RpcMetadata that && entries.equals(that.entries);
    }

    @Override
    public int hashCode() {
        return entries.hashCode();
    }

    @Override
    public String toString() {
        return entries.stream().map(entry -> entry.key + " (" + entry.value.length + " bytes)").toList().toString();
    }
}
