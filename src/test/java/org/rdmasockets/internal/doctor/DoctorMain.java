package org.rdmasockets.internal.doctor;

import java.nio.file.Path;
import java.util.List;

/** The doctor in a process of its own, which has another user, other limits or other namespaces. */
final class DoctorMain {
    private DoctorMain() {
    }

    /** The command and its arguments. The jar is the agent's, or none. */
    public static void main(String[] arguments) {
        String jar = System.getProperty("jar");
        System.exit(Doctor.run(List.of(arguments), System.out, jar == null ? null : Path.of(jar)));
    }
}
