package org.rdmasockets.internal.log;

import java.io.File;

/**
 * The folder that holds the class files of this library, where it is no jar: an IDE and the tests run it so. The JVM
 * opens a file for each class then. A process that has no descriptor left cannot, and a reference to a class that the
 * JVM has not found once fails for ever (JVMS 5.4.3). So all classes are loaded at the start. A jar stays open.
 */
final class ClassFolder {
    private static final String END = ".class";
    /** Code that jextract has made serves devices, whose own libraries need descriptors too: a third of the classes. */
    private static final String GENERATED = "generated";

    private ClassFolder() {
    }

    /** Loads the classes below a folder; {@code name} is that of the package, with a dot at its end, or empty. */
    static void load(File folder, String name, ClassLoader loader) {
        File[] files = folder.listFiles(); // null if no descriptor is left already; plain, as a lambda loads more
        for (File file : files == null ? new File[0] : files) {
            String each = file.getName();
            if (each.endsWith(END) && !each.endsWith("-info.class")) {
                try {
                    Class.forName(name + each.substring(0, each.length() - END.length()), false, loader);
                } catch (ClassNotFoundException | LinkageError e) {
                    continue; // for lack of an optional library, or of a descriptor: its first use says so again
                }
            } else if (file.isDirectory() && !each.equals(GENERATED)) {
                load(file, name + each + '.', loader);
            }
        }
    }
}
