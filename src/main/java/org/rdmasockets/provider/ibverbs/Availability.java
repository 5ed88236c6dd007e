package org.rdmasockets.provider.ibverbs;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.rdmasockets.verbs.VerbsException;

/** Finds out why RDMA cannot be used, step by step from the library to the device, as a sentence with the remedy. */
final class Availability {
    private static final Path DEVICES = Path.of("/sys/class/infiniband");
    private static final Path FILES = Path.of("/dev/infiniband");
    private static final Path MANAGER = FILES.resolve("rdma_cm");
    private static final String SOFTWARE_DEVICE = "without RDMA hardware, soft-RoCE does: modprobe rdma_rxe && "
            + "rdma link add rxe0 type rxe netdev eth0";

    private Availability() {}

    /** Tells what is missing now; empty if nothing is. */
    static Optional<String> problem() {
        return processorProblem(System.getProperty("os.arch")).or(NativeLibraries::problem)
                .or(Availability::systemProblem).or(Availability::libraryProblem);
    }

    /** The generated layouts hold for x86-64: on ARM a mutex of the C library is larger, and structs with it. */
    static Optional<String> processorProblem(String architecture) {
        return architecture.equals("amd64") ? Optional.empty() : Optional.of("RDMA devices can be used on x86-64 only, "
                + "not on " + architecture + "; shared memory and TCP work there");
    }

    /** Tells what is missing outside this process: devices, modules, permission; empty if nothing is. */
    static Optional<String> systemProblem() {
        return kernelProblem().or(Availability::permissionProblem);
    }

    private static Optional<String> kernelProblem() {
        if (isEmpty(DEVICES)) {
            return Optional.of("This machine has no RDMA device: load its driver; " + SOFTWARE_DEVICE);
        }
        if (isEmpty(FILES) || !Files.exists(MANAGER)) {
            return Optional.of("The kernel's user access to RDMA is not loaded (" + MANAGER
                    + " is missing): modprobe ib_uverbs && modprobe rdma_ucm; in a container, pass /dev/infiniband in");
        }
        return Optional.empty();
    }

    private static boolean isEmpty(Path folder) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            return !files.iterator().hasNext();
        } catch (IOException e) {
            return true;
        }
    }

    private static Optional<String> permissionProblem() {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(FILES, "{rdma_cm,uverbs*}")) {
            for (Path file : files) {
                if (!Files.isReadable(file) || !Files.isWritable(file)) {
                    return Optional.of("This user may not use RDMA: " + file + " must be readable and writable; "
                            + "chmod 666 " + FILES + "/rdma_cm " + FILES + "/uverbs*, or join the group of the files");
                }
            }
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of("This user may not look into " + FILES + ": " + e.getMessage());
        }
    }

    /** What only the libraries know: a driver of theirs may be missing, or the kernel may refuse them. */
    private static Optional<String> libraryProblem() {
        try {
            if (DeviceTable.list().isEmpty()) {
                return Optional.of("libibverbs has no driver for the RDMA devices of this machine: "
                        + "apt install ibverbs-providers (Debian, Ubuntu) or dnf install libibverbs (Fedora, RHEL)");
            }
            MemorySegment channel = ControlCalls.RDMA_CREATE_EVENT_CHANNEL.pointer("");
            ControlCalls.RDMA_DESTROY_EVENT_CHANNEL.run(channel);
            return Optional.empty();
        } catch (VerbsException e) {
            return Optional.of("RDMA cannot be used: " + e.getMessage());
        }
    }
}
