package org.rdmasockets.internal.doctor;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.rdmasockets.RdmaDevices;
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

    /** The root of {@code /proc}; a test has its own. */
    private final Path proc;

    Machine(Path proc) {
        this.proc = proc;
    }

    List<Finding> findings() {
        List<Finding> all = new ArrayList<>();
        all.add(sharedMemory());
        all.add(directory());
        boolean devices = devices(all);
        all.add(lockedMemory(devices));
        all.add(openFiles());
        all.add(mappings());
        return all;
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

    /** Adds a finding for each port of each device; false if there is none that can be used. */
    private static boolean devices(List<Finding> all) {
        Optional<String> reason = RdmaDevices.unavailability();
        if (reason.isPresent()) {
            all.add(Finding.problem("ibverbs", reason.get()));
            return false;
        }
        for (DeviceInfo info : RdmaDevices.list()) {
            try (Device device = RdmaDevices.open(info.name())) {
                for (int port = 1; port <= device.attributes().ports(); port++) {
                    all.add(port(device, port));
                }
            } catch (VerbsException e) {
                all.add(Finding.problem(info.name(), e.getMessage()));
            }
        }
        return true;
    }

    private static Finding port(Device device, int number) throws VerbsException {
        String subject = device.info().name() + " port " + number;
        PortAttributes port = device.port(number);
        if (port.state() != PortAttributes.State.ACTIVE) {
            return Finding.problem(subject, "is " + port.state() + ": plug the cable in, or set its network interface "
                    + "up (ip link set INTERFACE up); on InfiniBand a subnet manager must run");
        }
        int gids = 0;
        for (int i = 0; i < Math.min(port.gidTableLength(), COUNTED_GIDS); i++) {
            gids += device.gid(number, i).isZero() ? 0 : 1;
        }
        if (gids == 0) {
            return Finding.problem(subject, "has no GID: give its network interface an address (ip address add)");
        }
        return Finding.ok(subject, device.info().transport() + " over " + port.linkLayer() + ", " + port.state()
                + ", " + gids + " GIDs, MTU " + port.activeMtuBytes() + " bytes");
    }

    private Finding lockedMemory(boolean devices) {
        String subject = "locked memory";
        long limit = limit("Max locked memory");
        String text = limit == UNLIMITED ? "unlimited" : "at most " + (limit >>> 10) + " KiB (ulimit -l)";
        if (limit >= FEW_LOCKED_BYTES) {
            return Finding.ok(subject, text);
        }
        String remedy = text + ", but RDMA pins its buffers: ulimit -l unlimited; for good in "
                + "/etc/security/limits.d/, for a service LimitMEMLOCK=infinity, for a container --ulimit memlock=-1";
        return devices ? Finding.problem(subject, remedy) : Finding.note(subject, remedy);
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
