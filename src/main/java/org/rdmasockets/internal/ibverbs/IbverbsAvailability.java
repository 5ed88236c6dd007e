package org.rdmasockets.internal.ibverbs;

import java.io.File;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Optional;
import org.rdmasockets.verbs.VerbsException;

/** Finds out why RDMA cannot be used, step by step from the library to the device, as a sentence with the remedy. */
final class IbverbsAvailability {
    private static final File DEVICES = new File("/sys/class/infiniband");
    private static final File FILES = new File("/dev/infiniband");
    private static final File MANAGER = new File(FILES, "rdma_cm");
    private static final String SOFTWARE_DEVICE = "without RDMA hardware, soft-RoCE does: modprobe rdma_rxe && "
            + "rdma link add rxe0 type rxe netdev eth0";

    private IbverbsAvailability() {}

    /** Tells what is missing now; empty if nothing is. */
    static Optional<String> problem() {
        return processorProblem(System.getProperty("os.arch")).or(NativeLibraries::problem)
                .or(IbverbsAvailability::systemProblem).or(IbverbsAvailability::libraryProblem);
    }

    /** The bindings have the layouts of these two processors, as C compilers confirm. */
    static Optional<String> processorProblem(String architecture) {
        return switch (architecture) {
            case "amd64", "aarch64" -> Optional.empty();
            default -> Optional.of("RDMA devices can be used on x86-64 and aarch64 only, not on " + architecture
                    + ", where the structures of libibverbs were never compared with those of C; use TCP there");
        };
    }

    /** Tells what is missing outside this process: devices, modules, permission; empty if nothing is. */
    static Optional<String> systemProblem() {
        return kernelProblem().or(IbverbsAvailability::permissionProblem);
    }

    private static Optional<String> kernelProblem() {
        if (isEmpty(DEVICES)) {
            return Optional.of("This machine has no RDMA device: load its driver; " + SOFTWARE_DEVICE);
        }
        if (isEmpty(FILES) || !MANAGER.exists()) {
            return Optional.of("The kernel's user access to RDMA is not loaded (" + MANAGER
                    + " is missing): modprobe ib_uverbs && modprobe rdma_ucm; in a container, pass /dev/infiniband in");
        }
        return Optional.empty();
    }

    private static boolean isEmpty(File folder) {
        String[] files = folder.list();
        return files == null || files.length == 0;
    }

    private static Optional<String> permissionProblem() {
        for (File file : Objects.requireNonNullElse(FILES.listFiles(), new File[0])) {
            boolean needed = file.equals(MANAGER) || file.getName().startsWith("uverbs");
            if (needed && !(file.canRead() && file.canWrite())) {
                return Optional.of("This user may not use RDMA: " + file + " must be readable and writable; "
                        + "chmod 666 " + FILES + "/rdma_cm " + FILES + "/uverbs*, or join the group of the files");
            }
        }
        return Optional.empty();
    }

    /** The problems that only the libraries know: a driver of theirs may be missing, or the kernel may refuse them. */
    private static Optional<String> libraryProblem() {
        try {
            if (DeviceTable.list().isEmpty()) {
                return Optional.of("libibverbs has no driver for the RDMA devices of this machine: "
                        + "apt install ibverbs-providers (Debian, Ubuntu) or dnf install libibverbs (Fedora, RHEL)");
            }
            MemorySegment channel = ControlCall.RDMA_CREATE_EVENT_CHANNEL.pointer("");
            ControlCall.RDMA_DESTROY_EVENT_CHANNEL.run(channel);
            return Optional.empty();
        } catch (VerbsException e) {
            return Optional.of("RDMA cannot be used: " + e.getMessage());
        }
    }
}
