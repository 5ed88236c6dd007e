package org.rdmasockets.far;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.net.SocketOption;
import java.util.HashMap;
import java.util.Map;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.Transport;

/** Things that cannot be serialized and travel by their name: options, the same in both JVMs, and transports. */
sealed interface Named extends Serializable {
    /** The thing of that name here. */
    Object find();

    /** The name of an object if it needs one, or the object. */
    static Object nameOf(Object object) {
        return switch (object) {
            case SocketOption<?> option -> new Option(option.name());
            case Transport transport -> new Way(transport.name(), transport.reason());
            case null, default -> object;
        };
    }

    /** The name of an option. */
    record Option(String name) implements Named {
        private static final Map<String, SocketOption<?>> KNOWN = known();

        private static Map<String, SocketOption<?>> known() {
            Map<String, SocketOption<?>> known = new HashMap<>();
            try (RdmaSocket socket = new RdmaSocket()) {
                socket.supportedOptions().forEach(option -> known.put(option.name(), option));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return known;
        }

        @Override
        public Object find() {
            SocketOption<?> option = KNOWN.get(name);
            return option != null ? option : new Stranger(name, Integer.class);
        }
    }

    /** An option that is unknown here. */
    record Stranger(String name, Class<Integer> type) implements SocketOption<Integer> {
    }

    /** A transport. */
    record Way(String name, String reason) implements Named {
        @Override
        public Object find() {
            return new Transport(name, reason);
        }
    }
}
