package org.rdmasockets.internal.ffi;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.StringTokenizer;
import org.rdmasockets.verbs.VerbsException;

/** Finds out why processes cannot share memory here, as a sentence with the remedy. Harmless on every machine. */
public final class SharedMemoryAvailability {
    private static final Set<String> ARCHITECTURES = Set.of("amd64", "x86_64", "aarch64");
    private static final long TRIAL_BYTES = 4096;
    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final Path OVERCOMMIT = Path.of("/proc/sys/vm/overcommit_memory");
    private static final int MOST_BYTES = 4096;
    private static final String NEVER_OVERCOMMIT = "2";
    /** Whether everything was tried and worked: what a process may do does not shrink, as a rule. */
    private static volatile boolean available;

    private SharedMemoryAvailability() {}

    /** Tells what is missing now; empty if nothing is. */
    public static Optional<String> problem() {
        if (available) {
            return Optional.empty();
        }
        Optional<String> problem = platformProblem(System.getProperty("os.name"), System.getProperty("os.arch"));
        // No lambdas: each would be one more class to load before a first connect.
        problem = problem.isPresent() ? problem : nativeAccessProblem();
        problem = problem.isPresent() ? problem : commitProblem(OVERCOMMIT);
        problem = problem.isPresent() ? problem : Optional.ofNullable(SharingPolicy.current().problem());
        problem = problem.isPresent() ? problem : UserNamespace.problem();
        problem = problem.isPresent() ? problem : systemProblem();
        available = problem.isEmpty();
        return problem;
    }

    /**
     * The problem of an operating system and processor, by their names as system properties; empty if there is none.
     */
    static Optional<String> platformProblem(String system, String architecture) {
        if (!system.equals("Linux") || !ARCHITECTURES.contains(architecture.toLowerCase(Locale.ROOT))) {
            return Optional.of("Shared memory works on Linux on x86-64 or aarch64 only, not on " + system + " on "
                    + architecture + "; use another transport there");
        }
        return Optional.empty();
    }

    /** Why native functions cannot be called here, with the remedy; empty if they can. */
    public static Optional<String> nativeAccessProblem() {
        try {
            NativeFunction.Signature.link();
            return NativeFunction.Signature.find("memfd_create") != null ? Optional.empty()
                    : Optional.of("The C library has no memfd_create: use glibc 2.27 or musl 1.1.20, or newer");
        } catch (IllegalCallerException e) {
            return Optional.of(nativeAccessDenied());
        } catch (UnsupportedOperationException e) {
            return Optional.of("This Java runtime cannot call native functions: use a JDK 25 with a native linker");
        }
    }

    /** The problem of a JVM that refuses native access. */
    public static String nativeAccessDenied() {
        Module module = SharedMemoryAvailability.class.getModule();
        return "Native access is denied to this library: start java with --enable-native-access="
                + (module.isNamed() ? module.getName() : "ALL-UNNAMED");
    }

    /**
     * Where the kernel never promises more memory than it has, a page that is touched first can be refused, and that is
     * a SIGBUS; everywhere else it is found, or the kernel ends a process for it.
     */
    static Optional<String> commitProblem(Path file) {
        try {
            return Files.readString(file).strip().equals(NEVER_OVERCOMMIT)
                    ? Optional.of("Shared memory is not safe on this machine, because its kernel may refuse a page at "
                            + "the first touch: set the sysctl vm.overcommit_memory to 0 or 1")
                    : Optional.empty();
        } catch (IOException e) {
            // A sandbox that hides the policy has a kernel's default behind it.
            return Optional.empty();
        }
    }

    /** Tries what every link needs: a sealed memfd, mapped, and a socket. */
    private static Optional<String> systemProblem() {
        try (SealedMemory memory = SealedMemory.create(TRIAL_BYTES)) {
            SealedMemory.map(memory.descriptor(), TRIAL_BYTES).close();
            PacketSocket.unnamed().close();
            return Optional.empty();
        } catch (VerbsException e) {
            return Optional.of("Processes cannot share memory here: " + e.getMessage());
        }
    }

    /** A limit of this process, as {@code ulimit} sets it: a number, or {@code unlimited}. Throws if it is hidden. */
    public static String limit(String name) throws IOException {
        return limit(LIMITS, name);
    }

    /** As {@link #limit(String)}, from a file of that form. */
    public static String limit(Path file, String name) throws IOException {
        String limits = read(file);
        int at = limits.indexOf(name);
        if (at < 0) {
            throw new IOException(file + " does not tell " + name);
        }
        return new StringTokenizer(limits.substring(at + name.length())).nextToken();
    }

    /**
     * Reads the first 4 KiB of a small file of the kernel at one go, as it gives a number at once or not at all. A
     * reader of lines loads more, and {@code readString} begins with one byte.
     */
    public static String read(Path file) throws IOException {
        try (FileInputStream in = new FileInputStream(file.toFile())) {
            return new String(in.readNBytes(MOST_BYTES), StandardCharsets.ISO_8859_1);
        }
    }
}
