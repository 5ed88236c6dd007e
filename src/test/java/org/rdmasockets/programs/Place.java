package org.rdmasockets.programs;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.rdmasockets.TestDevice;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.interop.Program;
import org.rdmasockets.internal.provider.Providers;

/**
 * Where programs meet.
 *
 * @param address the address that servers bind and clients dial
 * @param transport the transport that they should meet over
 */
record Place(InetAddress address, Transport transport) {
    private static final String TRANSPORT_PROPERTY = "-Dorg.rdmasockets.transport=";
    private static final Path JAVA = Path.of(System.getProperty("java.home"), "bin", "java");

    /** Two processes of this host. */
    static Place here() {
        return new Place(InetAddress.ofLiteral("127.0.0.1"), Transport.SHARED_MEMORY);
    }

    /** The RDMA device of the guest. */
    static Place device() {
        return new Place(TestDevice.address(), Transport.IBVERBS);
    }

    /** Where plain TCP goes, for comparison. */
    Place tcp() {
        return new Place(address, Transport.TCP);
    }

    /** Skips the test, with the reason, where there is no such transport. */
    Place orSkip() {
        if (transport.is(Transport.SHARED_MEMORY)) {
            Optional<String> reason = Providers.sharedMemory().unavailability();
            reason.ifPresent(r -> System.out.println("programs are not run over shared memory: " + r));
            Assumptions.assumeTrue(reason.isEmpty(), () -> reason.orElseThrow());
        }
        return this;
    }

    /** How much a test sends, in bytes: devices are emulated. */
    int length() {
        return transport.is(Transport.IBVERBS) ? 50_000 : 1_000_000;
    }

    /** The address in words. */
    String host() {
        return address.getHostAddress();
    }

    /** Ports that are given only once. */
    List<String> freePorts(int count) throws IOException {
        return FreePorts.next(address, count).stream().map(each -> Integer.toString(each.getPort())).toList();
    }

    /**
     * Starts an example that is made of verbs or endpoints, over the transport and no other.
     *
     * @param name of the example
     * @param arguments its arguments
     */
    Program example(String name, String... arguments) throws IOException {
        return Program.java(options(TRANSPORT_PROPERTY + transport.name()), name, arguments);
    }

    /**
     * Options for a JVM that shall tell its transport. Within this host it is left to auto, as by default.
     *
     * @param more further options
     */
    List<String> options(String... more) {
        List<String> options = new ArrayList<>(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
                "-Dorg.slf4j.simpleLogger.log.org.rdmasockets=info",
                TRANSPORT_PROPERTY + (transport.is(Transport.SHARED_MEMORY) ? "auto" : transport.name())));
        options.addAll(List.of(more));
        return options;
    }

    /** The agent's jar, as it is built. */
    static Path agent() throws IOException {
        return file(Path.of("target"), "rdma-sockets-.*-agent\\.jar");
    }

    /** A jar of {@code target/lib}. */
    static String library(String artifact) throws IOException {
        return file(Path.of("target", "lib"), artifact + "-\\d.*\\.jar").toString();
    }

    private static Path file(Path directory, String name) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(each -> each.getFileName().toString().matches(name)).findFirst().orElseThrow(
                    () -> new AssertionError(directory + " has no " + name + ": mvn test-compile makes it"));
        }
    }

    /** The {@code java} of a JVM that is too old for the library; skips the test, with the reason, if there is none. */
    static Path oldJava() throws IOException {
        Path known = Path.of("/usr/lib/jvm");
        List<Path> old = List.of();
        if (Files.isDirectory(known)) {
            try (Stream<Path> homes = Files.list(known)) {
                old = homes.filter(home -> home.getFileName().toString().matches("(java-|temurin-)?(11|17|21)\\b.*"))
                        .map(home -> home.resolve("bin/java")).filter(Files::isExecutable).toList();
            }
        }
        if (old.isEmpty()) {
            System.out.println("the agent is not tried on an old JVM: " + known + " has none");
        }
        Assumptions.assumeFalse(old.isEmpty(), "no Java 11, 17 or 21 in " + known);
        return old.getFirst();
    }

    /**
     * A command line for a program that knows nothing of this project.
     *
     * @param options for the JVM
     * @param arguments main class and arguments
     */
    static String[] java(List<String> options, String... arguments) {
        List<String> command = new ArrayList<>(List.of(JAVA.toString()));
        command.addAll(options);
        command.addAll(List.of(arguments));
        return command.toArray(String[]::new);
    }
}
