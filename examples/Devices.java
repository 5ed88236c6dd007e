// Shows the RDMA devices of this machine with their limits, ports and addresses, or says why there are none.

import org.rdmasockets.RdmaDevices;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceAttributes;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.PortAttributes;
import org.rdmasockets.verbs.VerbsException;

void main() throws VerbsException {
    Optional<String> reason = RdmaDevices.unavailability();
    if (reason.isPresent()) {
        IO.println("RDMA cannot be used here: " + reason.get());
        return;
    }
    for (DeviceInfo info : RdmaDevices.list()) {
        try (Device device = RdmaDevices.open(info.name())) {
            show(device);
        }
    }
}

void show(Device device) throws VerbsException {
    DeviceInfo info = device.info();
    DeviceAttributes limits = device.attributes();
    IO.println("%s: %s, GUID %s".formatted(info.name(), info.transport(), info.guidText()));
    IO.println("  up to %,d queue pairs of %,d requests each".formatted(limits.maxQueuePairs(),
            limits.maxWorkRequests()));
    IO.println("  up to %,d completion queues of %,d entries each".formatted(limits.maxCompletionQueues(),
            limits.maxCompletionQueueEntries()));
    IO.println("  up to %,d memory regions of 0x%x bytes each".formatted(limits.maxMemoryRegions(),
            limits.maxMemoryRegionBytes()));
    IO.println("  can do " + Stream.of(Capability.values()).filter(device::supports).toList());
    for (int port = 1; port <= limits.ports(); port++) {
        showPort(device, port);
    }
}

void showPort(Device device, int number) throws VerbsException {
    PortAttributes port = device.port(number);
    IO.println("  port %d: %s, link layer %s, MTU %d of %d bytes".formatted(number, port.state(), port.linkLayer(),
            port.activeMtuBytes(), port.maxMtuBytes()));
    for (int i = 0; i < port.gidTableLength(); i++) {
        Gid gid = device.gid(number, i);
        if (!gid.isZero()) {
            IO.println("    GID %d: %s".formatted(i, gid));
        }
    }
}
