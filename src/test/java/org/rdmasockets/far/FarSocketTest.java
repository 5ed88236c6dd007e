package org.rdmasockets.far;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Sockets of another JVM do nothing here: a contract that they pass is passed there. */
class FarSocketTest {
    @Test
    void everythingIsForwarded() {
        assertEquals(Set.of("getChannel()"), notForwarded(Socket.class, FarSocket.class));
        assertEquals(Set.of("getChannel()"), notForwarded(ServerSocket.class, FarServerSocket.class));
    }

    private static Set<String> notForwarded(Class<?> original, Class<?> forwarding) {
        Set<String> missing = new TreeSet<>();
        for (Method method : original.getDeclaredMethods()) {
            int modifiers = method.getModifiers();
            if (Modifier.isPublic(modifiers) && !Modifier.isStatic(modifiers) && !isDeclared(forwarding, method)) {
                String types = Arrays.toString(method.getParameterTypes());
                missing.add(method.getName() + "(" + types.substring(1, types.length() - 1) + ")");
            }
        }
        return missing;
    }

    private static boolean isDeclared(Class<?> type, Method method) {
        return Arrays.stream(type.getDeclaredMethods()).anyMatch(own -> own.getName().equals(method.getName())
                && Arrays.equals(own.getParameterTypes(), method.getParameterTypes()));
    }
}
