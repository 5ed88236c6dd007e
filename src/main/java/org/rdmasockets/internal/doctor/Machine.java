package org.rdmasockets.internal.doctor;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.rdmasockets.RdmaDevices;
import org.rdmasockets.internal.ffi.SealedMemory;
import org.rdmasockets.internal.ffi.SharedMemoryAvailability;
import org.rdmasockets.internal.ffi.SharingPolicy;
import org.rdmasockets.internal.ffi.SocketDirectory;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.PortAttributes;
import org.rdmasockets.verbs.VerbsException;

/** The findings on this machine and this user's limits: devices, shared memory, and what the kernel allows. */
final class Machine {
    private static final long UNLIMITED = Long.MAX_VALUE;
    /** A connection with default settings pins 256 KiB or so for each end. */
    private static final long FEW_LOCKED_BYTES = 64L << 20;
    /** A connection over shared memory takes about two, and a program has files of its own. */
    private static final long FEW_FILES = 4096;
    /** The kernel's default. */
    private static final long FEW_MAPPINGS = 65_530;
    private static final int COUNTED_GIDS = 256;

    /** The number of the capability that lets a process lock any amount of memory. */
    private static final int CAP_IPC_LOCK = 14;
    private static final String CAPABILITIES = "CapEff:";
    /** The kernel's own numbers of the first namespaces of a machine ({@code PROC_PID_INIT_INO} and so on). */
    private static final String HOST_PROCESSES = "pid:[4026531836]";
    private static final String HOST_USERS = "user:[4026531837]";
    private static final long TRIAL_BYTES = 4096;
    private static final List<String> MODULES = List.of("ib_uverbs", "rdma_ucm");

    /** The root of the file system; a test has its own. */
    private final Path root;
    private final Path proc;

    Machine(Path root) {
        this.root = root;
        proc = root.resolve("proc");
    }

    List<Finding> findings() {
        List<Finding> all = new ArrayList<>();
        Optional<String> denied = SharedMemoryAvailability.nativeAccessProblem();
        all.add(denied.map(reason -> Finding.problem("native access", reason)).orElse(Finding.ok("native access",
                "granted here; a program needs --enable-native-access=org.rdmasockets, on the class path ALL-UNNAMED, "
                        + "or the agent")));
        if (denied.isEmpty()) {
            all.add(memfd());
        }
        all.add(sharedMemory());
        all.add(directory());
        container().ifPresent(all::add);
        all.add(modules());
        all.add(deviceFiles());
        boolean devices = devices(all, false);
        all.add(lockedMemory(devices));
        all.add(openFiles());
        all.add(mappings());
        return all;
    }

    private static Finding memfd() {
        try (SealedMemory memory = SealedMemory.create(TRIAL_BYTES)) {
            SealedMemory.map(memory.descriptor(), TRIAL_BYTES).close();
            return Finding.ok("memfd", "memory without a file can be made, sealed and mapped");
        } catch (VerbsException e) {
            return Finding.problem("memfd", e.getMessage() + "; a filter of system calls (seccomp) has to permit "
                    + "memfd_create, fcntl and mmap");
        }
    }

    private static Finding sharedMemory() {
        return Providers.sharedMemory().unavailability().map(reason -> Finding.problem("sharedmemory", reason))
                .orElse(Finding.ok("sharedmemory", "processes on this host can share memory"));
    }

    private static Finding directory() {
        try {
            return Finding.ok("directory", SocketDirectory.own().path()
                    + " has the names of servers; this process shares memory with " + SharingPolicy.current());
        } catch (VerbsException e) {
            return Finding.problem("directory", e.getMessage());
        } catch (RuntimeException | LinkageError e) { // no native access: the first finding says so
            return Finding.problem("directory", "not looked at: " + e.getMessage());
        }
    }

    /** The finding of a process that runs in a container; empty on the host. */
    private Optional<Finding> container() {
        String processes = link("self/ns/pid");
        if (processes == null || processes.equals(HOST_PROCESSES)) {
            return Optional.empty();
        }
        boolean spans = SharingPolicy.current().spansNetworks();
        String text = "this process is in one, and shares memory only with those that " + (spans
                ? "mount the same directory" : "see the same directory: mount one into both and set -D"
                + SharingPolicy.DIRECTORY + "=PATH")
                + "; docker run --device /dev/infiniband --ulimit memlock=-1 gives it the host's RDMA devices";
        return Optional.of(spans ? Finding.ok("container", text) : Finding.note("container", text));
    }

    /** The target of a link below {@code /proc}; null if it cannot be read. */
    private String link(String name) {
        try {
            return Files.readSymbolicLink(proc.resolve(name)).toString();
        } catch (IOException e) {
            return null;
        }
    }

    /** Whether the kernel has an RDMA device. */
    private boolean hasDevice() {
        String[] devices = root.resolve("sys/class/infiniband").toFile().list();
        return devices != null && devices.length > 0;
    }

    private Finding modules() {
        String subject = "modules";
        List<String> missing = MODULES.stream().filter(one -> !Files.isDirectory(root.resolve("sys/module/" + one)))
                .toList();
        if (missing.isEmpty()) {
            return Finding.ok(subject, String.join(" and ", MODULES) + " are loaded");
        }
        String text = String.join(" and ", missing) + (missing.size() == 1 ? " is" : " are") + " not loaded";
        String remedy = "modprobe -a " + String.join(" ", missing) + " on the host; for good in /etc/modules-load.d/";
        return hasDevice() ? Finding.problem(subject, text + ": " + remedy)
                : Finding.ok(subject, text + ", and no RDMA device needs that; with one, " + remedy);
    }

    private Finding deviceFiles() {
        Path folder = root.resolve("dev/infiniband");
        String subject = "/dev/infiniband";
        File[] found = folder.toFile().listFiles((in, name) -> name.equals("rdma_cm") || name.startsWith("uverbs"));
        List<File> files = found == null ? List.of() : Arrays.stream(found).sorted().toList();
        boolean manager = files.stream().anyMatch(file -> file.getName().equals("rdma_cm"));
        if (files.size() < 2 || !manager) {
            String text = files.isEmpty() ? "is not there" : manager ? "has no uverbs*" : "has no rdma_cm";
            return hasDevice() ? Finding.problem(subject, text + ": modprobe -a " + String.join(" ", MODULES)
                    + "; a container has to be given it: docker run --device /dev/infiniband")
                    : Finding.ok(subject, text + ", and no RDMA device needs it");
        }
        List<String> closed = files.stream().filter(file -> !file.canRead() || !file.canWrite()).map(File::getName)
                .toList();
        return closed.isEmpty() ? Finding.ok(subject, "this user may open "
                + files.stream().map(File::getName).collect(Collectors.joining(", ")))
                : Finding.problem(subject, "this user may not open " + String.join(", ", closed) + ": "
                        + "a rule of udev that gives them to a group of the user (GROUP=, MODE=0660), or "
                        + "chmod 666 until the next boot");
    }

    /** Adds a finding for each port of each device, with all GIDs if asked; false if there is none that can be used. */
    static boolean devices(List<Finding> all, boolean allGids) {
        Optional<String> reason = RdmaDevices.unavailability();
        if (reason.isPresent()) {
            all.add(Finding.problem("ibverbs", reason.get()));
            return false;
        }
        for (DeviceInfo info : RdmaDevices.list()) {
            try (Device device = RdmaDevices.open(info.name())) {
                for (int port = 1; port <= device.attributes().ports(); port++) {
                    all.add(port(device, port, allGids));
                }
            } catch (VerbsException e) {
                all.add(Finding.problem(info.name(), e.getMessage()));
            }
        }
        return true;
    }

    private static Finding port(Device device, int number, boolean allGids) throws VerbsException {
        String subject = device.info().name() + " port " + number;
        PortAttributes port = device.port(number);
        if (port.state() != PortAttributes.State.ACTIVE) {
            return Finding.problem(subject, "is " + port.state() + ": plug the cable in, or set its network interface "
                    + "up (ip link set INTERFACE up); on InfiniBand a subnet manager must run");
        }
        List<String> gids = new ArrayList<>();
        for (int i = 0; i < Math.min(port.gidTableLength(), COUNTED_GIDS); i++) {
            if (!device.gid(number, i).isZero()) {
                gids.add(i + " " + device.gid(number, i));
            }
        }
        if (gids.isEmpty()) {
            return Finding.problem(subject, "has no GID: give its network interface an address (ip address add)");
        }
        return Finding.ok(subject, device.info().transport() + " over " + port.linkLayer() + ", " + port.state()
                + ", " + gids.size() + (gids.size() == 1 ? " GID" : " GIDs")
                + (allGids ? " (" + String.join(", ", gids) + ")" : "") + ", MTU " + port.activeMtuBytes() + " bytes");
    }

    private Finding lockedMemory(boolean devices) {
        String subject = "locked memory";
        long limit = limit("Max locked memory");
        String text = limit == UNLIMITED ? "unlimited" : "at most " + (limit >>> 10) + " KiB (ulimit -l)";
        if (limit >= FEW_LOCKED_BYTES) {
            return Finding.ok(subject, text);
        }
        if (mayLockAll()) {
            return Finding.ok(subject, text + ", which does not bind this user (CAP_IPC_LOCK)");
        }
        String remedy = text + ", but RDMA pins its buffers: ulimit -l unlimited; for good in "
                + "/etc/security/limits.d/, for a service LimitMEMLOCK=infinity, for a container --ulimit memlock=-1";
        return devices ? Finding.problem(subject, remedy) : Finding.note(subject, remedy);
    }

    /** Whether the kernel holds this process to no limit; it asks for the capability on the host. */
    private boolean mayLockAll() {
        String users = link("self/ns/user");
        try {
            String status = SharedMemoryAvailability.read(proc.resolve("self/status"));
            int at = status.indexOf(CAPABILITIES);
            long capabilities = at < 0 ? 0
                    : Long.parseUnsignedLong(status.substring(at + CAPABILITIES.length()).strip().split("\\s")[0], 16);
            return (capabilities >>> CAP_IPC_LOCK & 1) == 1 && (users == null || users.equals(HOST_USERS));
        } catch (IOException | NumberFormatException e) {
            return false;
        }
    }

    private Finding openFiles() {
        String subject = "open files";
        long limit = limit("Max open files");
        return limit >= FEW_FILES ? Finding.ok(subject, limit == UNLIMITED ? "unlimited" : "at most " + limit)
                : Finding.note(subject, "at most " + limit + ", enough for about " + limit / 4
                        + " connections: ulimit -n 65536; for a service LimitNOFILE=65536");
    }

    private Finding mappings() {
        String subject = "vm.max_map_count";
        try {
            long most = Long.parseLong(SharedMemoryAvailability.read(
                    proc.resolve("sys/vm/max_map_count")).strip());
            return most >= FEW_MAPPINGS ? Finding.ok(subject, "" + most)
                    : Finding.note(subject, most + " mappings of memory for a process: sysctl -w vm.max_map_count="
                            + FEW_MAPPINGS + ", or use fewer connections");
        } catch (IOException | NumberFormatException e) {
            return Finding.note(subject, "cannot be read here: " + e);
        }
    }

    /** The soft limit of this process, by its name in {@code /proc/self/limits}. */
    private long limit(String name) {
        try {
            String soft = SharedMemoryAvailability.limit(proc.resolve("self/limits"), name);
            return soft.equals("unlimited") ? UNLIMITED : Long.parseLong(soft);
        } catch (IOException | NumberFormatException e) {
            return UNLIMITED; // a sandbox that hides the limits; what fails for them says so
        }
    }
}
