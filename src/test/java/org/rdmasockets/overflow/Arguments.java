package org.rdmasockets.overflow;

import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** Values for parameters of which any will do. */
final class Arguments {
    private static final int BYTES = 8;

    private Arguments() {
    }

    /** A value of a type, null if there is none here. */
    static Object simple(Class<?> type) {
        return type.isPrimitive() ? primitive(type) : type.isArray() ? array(type)
                : type.isEnum() ? type.getEnumConstants()[0] : object(type);
    }

    private static Object primitive(Class<?> type) {
        return switch (type.getName()) {
            case "int" -> 1;
            case "long" -> 1L;
            case "boolean" -> true;
            case "byte" -> (byte) 1;
            default -> throw new AssertionError(type);
        };
    }

    private static Object array(Class<?> type) {
        return type == byte[].class ? new byte[BYTES] : type == ByteBuffer[].class
                ? new ByteBuffer[] {ByteBuffer.allocate(BYTES), ByteBuffer.allocate(BYTES)} : null;
    }

    private static Object object(Class<?> type) {
        return switch (type.getSimpleName()) {
            case "ByteBuffer" -> ByteBuffer.allocate(BYTES);
            case "MemorySegment" -> Arena.ofAuto().allocate(BYTES);
            case "InetAddress" -> InetAddress.getLoopbackAddress();
            case "SocketOption" -> (SocketOption<?>) StandardSocketOptions.SO_RCVBUF;
            case "Object" -> 1 << 16;
            case "Duration" -> Duration.ofMillis(1);
            case "Set" -> Set.of();
            case "List", "Collection" -> (Collection<?>) List.of();
            case "Map" -> Map.of();
            case "OptionalInt" -> OptionalInt.empty();
            case "TimeUnit" -> TimeUnit.MILLISECONDS;
            case "String" -> "echo";
            case "Runnable" -> (Runnable) () -> { };
            case "Consumer" -> (Consumer<Object>) o -> { };
            case "Predicate" -> (Predicate<Object>) o -> true;
            default -> null;
        };
    }
}
