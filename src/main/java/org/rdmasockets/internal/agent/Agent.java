package org.rdmasockets.internal.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.List;

/**
 * Entry point of {@code -javaagent} and of {@code java -jar}. It is compiled for Java 8, so that a JVM that is too old
 * gets a sentence instead of an {@code UnsupportedClassVersionError}.
 */
public final class Agent {
    private static final int NEEDED_JAVA = 25;
    private static final int WRONG_ARGUMENTS = 2;
    private static final String LIBRARY = "org.rdmasockets.internal.agent.IsolatedLibrary";
    private static final String TRANSPORT_PROPERTY = "org.rdmasockets.transport";

    private Agent() {}

    /**
     * Replaces the sockets of this JVM, by a file with rules if there is one, or ends it: a program with the agent is
     * not meant to run without. Only a JVM that is too old goes on, over TCP, unless the settings forbid that.
     */
    public static void premain(String rules, Instrumentation jvm) {
        if (isOldJava()) {
            refuseOldJava();
            return;
        }
        try {
            Class.forName(LIBRARY, true, Agent.class.getClassLoader())
                    .getMethod("install", String.class, Instrumentation.class).invoke(null, rules, jvm);
        } catch (InvocationTargetException e) {
            end(e.getCause());
        } catch (Exception | LinkageError e) {
            end(e);
        }
    }

    /** Runs a command for a person, as {@code java -jar ...-agent.jar doctor}. */
    public static void main(String[] arguments) {
        List<String> all = Arrays.asList(arguments);
        if (isOldJava() || all.isEmpty()) {
            System.err.println(isOldJava() ? tooOld() : "usage: java -jar rdma-sockets-VERSION-agent.jar doctor "
                    + "(or help), or java -javaagent:rdma-sockets-VERSION-agent.jar and a program");
            System.exit(WRONG_ARGUMENTS);
        }
        try {
            System.exit((int) Class.forName(LIBRARY, true, Agent.class.getClassLoader())
                    .getMethod("doctor", List.class).invoke(null, all));
        } catch (InvocationTargetException e) {
            end(e.getCause());
        } catch (Exception | LinkageError e) {
            end(e);
        }
    }

    private static boolean isOldJava() {
        String version = System.getProperty("java.specification.version");
        return version.startsWith("1.") || Integer.parseInt(version) < NEEDED_JAVA;
    }

    private static String tooOld() {
        return "Java " + NEEDED_JAVA + " or later is needed, this is Java " + System.getProperty("java.version")
                + " in " + System.getProperty("java.home");
    }

    private static void refuseOldJava() {
        String transport = System.getProperty(TRANSPORT_PROPERTY, "auto");
        boolean allowed = !"never".equals(System.getProperty(TRANSPORT_PROPERTY + ".fallback"))
                && (transport.equals("auto") || transport.equals("tcp"));
        say(tooOld() + (allowed ? "; its sockets stay on TCP" : ""));
        if (!allowed) {
            System.exit(1);
        }
    }

    /** An exception would make the JVM print a page and dump core. */
    private static void end(Throwable cause) {
        // The messages of refusals are for people, those of anything unexpected are not enough.
        boolean refusal = cause instanceof IOException && cause.getMessage() != null;
        say(refusal ? cause.getMessage() : cause.toString());
        System.exit(1);
    }

    private static void say(String text) {
        System.err.println("-javaagent, rdma-sockets: " + text);
    }
}
