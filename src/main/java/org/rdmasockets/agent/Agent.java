package org.rdmasockets.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.rdmasockets.RdmaSockets;

/** What the JVM calls for {@code -javaagent}. */
public final class Agent {
    private static final String RULES_PROPERTY = "org.rdmasockets.transport.rules";
    /** One class of each library that sockets need, to see early that it is there. */
    private static final List<String> NEEDED = List.of("org.slf4j.Logger", "org.jctools.queues.MessagePassingQueue",
            "org.jctools.queues.varhandle.MpscUnboundedVarHandleArrayQueue");

    private Agent() {
    }

    /**
     * Replaces the sockets of this JVM, or ends it: who asks for the agent does not want to run without.
     *
     * @param rules file with rules for the choice of a transport; null or empty for none
     * @param jvm opens packages of the JDK to this library
     */
    public static void premain(String rules, Instrumentation jvm) {
        try {
            install(rules, jvm);
        } catch (IOException e) {
            System.err.println("-javaagent, rdma-sockets: " + e.getMessage());
            System.exit(1); // an exception would make the JVM print a page and dump core
        }
    }

    private static void install(String rules, Instrumentation jvm) throws IOException {
        ensureLibraries();
        if (rules != null && !rules.isEmpty()) {
            if (!Files.isReadable(Path.of(rules))) {
                throw new IOException("the file of rules " + rules + " is not there or cannot be read");
            }
            System.setProperty(RULES_PROPERTY, rules);
        }
        Module us = Agent.class.getModule();
        jvm.redefineModule(Object.class.getModule(), Set.of(), Map.of(),
                Map.of("java.net", Set.of(us), "java.lang", Set.of(us)), Set.of(), Map.of());
        grantNativeAccess(us);
        RdmaSockets.install();
    }

    /** Without them the first socket would end in a NoClassDefFoundError that nobody can explain. */
    private static void ensureLibraries() throws IOException {
        for (String name : NEEDED) {
            try {
                Class.forName(name, false, Agent.class.getClassLoader());
            } catch (ClassNotFoundException e) {
                throw new IOException(name + " is missing: JCTools (jctools-core and jctools-core-jdk11) and slf4j-api "
                        + "must be on the class path, or in a directory lib beside the agent's jar", e);
            }
        }
    }

    /**
     * The JVM does not read {@code Enable-Native-Access} in an agent's manifest, and agents have no public way to what
     * the flag does.
     */
    private static void grantNativeAccess(Module us) {
        if (us.isNativeAccessEnabled()) {
            return;
        }
        try {
            Method grant = Module.class.getDeclaredMethod(
                    us.isNamed() ? "implAddEnableNativeAccess" : "implAddEnableNativeAccessToAllUnnamed");
            grant.setAccessible(true);
            grant.invoke(us);
        } catch (ReflectiveOperationException | RuntimeException e) {
            System.err.println("rdma-sockets: start Java with --enable-native-access="
                    + (us.isNamed() ? us.getName() : "ALL-UNNAMED") + ", or it warns, or refuses RDMA (" + e + ")");
        }
    }
}
