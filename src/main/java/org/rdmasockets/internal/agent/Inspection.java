package org.rdmasockets.internal.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Set;

/**
 * Entry point of the agent's jar in a process that runs already, which the doctor asks for its connections. It finds
 * each copy of the library, in whatever class loader it is, and writes their answers to a file.
 */
public final class Inspection {
    private static final String PACKAGE = "org.rdmasockets.internal.connection";
    /** Loaded wherever there is a connection. */
    private static final String MARK = PACKAGE + ".Connection";
    private static final String REPORT = PACKAGE + ".ConnectionReport";

    private Inspection() {}

    /**
     * Writes the connections of this process.
     *
     * @param file where to write
     * @param jvm opens what is needed
     * @throws IOException if the file cannot be written
     */
    public static void agentmain(String file, Instrumentation jvm) throws IOException {
        StringBuilder all = new StringBuilder();
        for (Class<?> loaded : jvm.getAllLoadedClasses()) {
            if (loaded.getName().equals(MARK)) {
                all.append(report(loaded, jvm));
            }
        }
        Files.writeString(Path.of(file), all, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    }

    private static String report(Class<?> of, Instrumentation jvm) {
        try {
            Module library = of.getModule();
            if (library.isNamed()) {
                jvm.redefineModule(library, Set.of(), Map.of(PACKAGE, Set.of(Inspection.class.getModule())), Map.of(),
                        Set.of(), Map.of());
            }
            return (String) Class.forName(REPORT, true, of.getClassLoader()).getMethod("now").invoke(null);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            return "failure\ta copy of the library there is of another version: " + e + '\n';
        }
    }
}
