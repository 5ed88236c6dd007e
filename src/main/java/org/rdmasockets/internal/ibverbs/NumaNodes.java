package org.rdmasockets.internal.ibverbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Set;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** Where devices and processors are, as the kernel tells in {@code /sys}. Any thread may ask; it reads a few files. */
final class NumaNodes {
    private final Path root;

    NumaNodes(Path root) {
        this.root = root;
    }

    /**
     * The processors of the nodes that devices are on, at least one; a device that is on no node does not count. Throws
     * if no device is on a node with processors, with the reason for each.
     */
    ProcessorList processorsNear(Set<String> devices) throws VerbsException {
        ProcessorList near = new ProcessorList(new BitSet());
        List<String> reasons = new ArrayList<>();
        for (String device : devices) {
            try {
                near = near.with(processorsNear(device));
            } catch (IOException | IllegalArgumentException e) {
                reasons.add(device + ": " + e.getMessage());
            }
        }
        if (near.numbers().isEmpty()) {
            throw new VerbsException("sched_setaffinity", Errno.ENODEV.number(), "devices=" + devices,
                    String.join("; ", reasons));
        }
        return near;
    }

    private ProcessorList processorsNear(String device) throws IOException {
        Path place = root.resolve("class/infiniband").resolve(device).resolve("device/numa_node");
        if (!Files.exists(place)) {
            throw new IOException("it is on no bus, as software devices are not");
        }
        int node = Integer.parseInt(Files.readString(place).strip());
        if (node < 0) {
            throw new IOException("the machine has only one NUMA node, or does not tell on which the device is");
        }
        ProcessorList list = ProcessorList.parse(Files.readString(root.resolve("devices/system/node/node" + node)
                .resolve("cpulist")));
        if (list.numbers().isEmpty()) {
            throw new IOException("its NUMA node " + node + " has no processors");
        }
        return list;
    }
}
