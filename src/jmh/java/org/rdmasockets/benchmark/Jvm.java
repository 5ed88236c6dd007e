package org.rdmasockets.benchmark;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Starts main classes of this suite in new JVMs, which have this one's class path and our properties. */
final class Jvm {
    /** The property with their JVM options, separated by spaces, in place of the {@code -XX:} options of this JVM. */
    private static final String OPTIONS = "org.rdmasockets.benchmark.options";

    /** The option for a JVM without compilers, which a server has if its client does. */
    static final String INTERPRETER = "-Xint";

    private Jvm() {
    }

    /** A command whose errors appear among ours; with more options of the virtual machine, if any. */
    static ProcessBuilder command(Contender contender, List<String> more, Class<?> main, String... arguments) {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        List<String> command = new ArrayList<>(List.of(java, "--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC",
                "--sun-misc-unsafe-memory-access=allow", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-cp", System.getProperty("java.class.path")));
        // The transport and the address are ours, and the compilers, unless told otherwise. An interpreter stays one.
        String options = System.getProperty(OPTIONS, "");
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> option.startsWith("-Dorg.rdmasockets.") || option.equals(INTERPRETER)
                        || options.isEmpty() && option.startsWith("-XX:")).forEach(command::add);
        Stream.of(options.split(" ")).filter(option -> !option.isEmpty()).forEach(command::add);
        command.addAll(contender.jvmOptions());
        command.addAll(more);
        command.add(main.getName());
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().putAll(contender.environment());
        return builder;
    }
}
