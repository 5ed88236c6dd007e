package org.rdmasockets.internal.agent;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.rdmasockets.RdmaSockets;
import org.rdmasockets.internal.selection.Policy;

/** The agent's work inside the isolated library. */
public final class Installation {
    private static final String RULES_PROPERTY = "org.rdmasockets.transport.rules";

    private Installation() {}

    /** Replaces the sockets of this JVM; the rules may be null. The message of an exception says what to do. */
    public static void install(String rules) throws IOException {
        if (rules != null && !rules.isEmpty()) {
            System.setProperty(RULES_PROPERTY, rules);
        }
        try {
            Policy.check(System.getProperties());
        } catch (IllegalArgumentException e) {
            throw new IOException(e.getMessage(), e);
        }
        grantNativeAccess();
        RdmaSockets.install();
    }

    /**
     * The JVM does not read {@code Enable-Native-Access} in an agent's manifest, and what the API has,
     * {@code ModuleLayer.Controller}, needs native access itself.
     */
    private static void grantNativeAccess() {
        try {
            Method grant = Module.class.getDeclaredMethod("implAddEnableNativeAccess");
            grant.setAccessible(true);
            grant.invoke(Installation.class.getModule());
        } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException | RuntimeException e) {
            System.err.println("rdma-sockets: Java " + Runtime.version() + " is not known to this version: it warns of "
                    + "native access, or refuses RDMA and shared memory (" + e + ")");
        }
    }
}
