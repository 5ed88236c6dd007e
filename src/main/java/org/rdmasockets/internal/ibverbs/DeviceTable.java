package org.rdmasockets.internal.ibverbs;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.rdmasockets.internal.log.Log;
import org.rdmasockets.internal.ibverbs.generated.ibv_device;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsException;

/**
 * The devices of this process. There is one kind of device only: the contexts of librdmacm ({@code rdma_get_devices}),
 * because it refuses queue pairs with a protection domain of another context. They are shared with every identifier
 * and never closed; a device is known by the address of its context, so that opening it by name and asking an
 * identifier for its device give the same object.
 */
final class DeviceTable {
    private static final Log LOG = new Log(DeviceTable.class);
    private static final Path CLASS = Path.of("/sys/class/infiniband");

    /** Those of this process. */
    static final DeviceTable ALL = new DeviceTable();

    /** Context address to device; guarded by this. */
    private final Map<Long, IbverbsDevice> devices = new HashMap<>();

    /** Lists the devices without opening any ({@code ibv_get_device_list}); ENOSYS if the kernel has no RDMA. */
    static List<DeviceInfo> list() throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
            MemorySegment list = ControlCall.IBV_GET_DEVICE_LIST.pointer("", count);
            try {
                List<DeviceInfo> infos = new ArrayList<>();
                for (int i = 0; i < count.get(ValueLayout.JAVA_INT, 0); i++) {
                    infos.add(info(IbverbsCalls.pointer(list, i)));
                }
                return List.copyOf(infos);
            } finally {
                ControlCall.IBV_FREE_DEVICE_LIST.run(list);
            }
        }
    }

    private static DeviceInfo info(MemorySegment device) throws VerbsException {
        String name = ControlCall.IBV_GET_DEVICE_NAME.pointer("", device).getString(0);
        long guid = Long.reverseBytes(ControlCall.IBV_GET_DEVICE_GUID.run(device));
        return new DeviceInfo(name, guid, transport(ibv_device.transport_type(device), name));
    }

    /** The library tells InfiniBand from iWARP; RoCE is InfiniBand over an Ethernet link, which sysfs tells. */
    private static TransportType transport(int type, String name) {
        if (type == rdma_h.IBV_TRANSPORT_IWARP()) {
            return TransportType.IWARP;
        }
        if (type != rdma_h.IBV_TRANSPORT_IB()) {
            return TransportType.UNKNOWN;
        }
        try {
            String link = Files.readString(CLASS.resolve(name).resolve("ports/1/link_layer")).strip();
            return link.equals("Ethernet") ? TransportType.ROCE : TransportType.INFINIBAND;
        } catch (IOException e) {
            return TransportType.INFINIBAND;
        }
    }

    /** Opens a device by the kernel's name, or finds it if it is open; throws ENODEV if there is none of that name. */
    synchronized IbverbsDevice open(String name) throws VerbsException {
        scan();
        // A device that was deleted and made again has a new context; the dead one is no longer in the list.
        for (IbverbsDevice device : devices.values()) {
            if (device.info().name().equals(name) && device.present) {
                return device;
            }
        }
        throw new VerbsException("rdma_get_devices", Errno.ENODEV.number(), "name=" + name, noSuchDevice(name));
    }

    private String noSuchDevice(String name) throws VerbsException {
        List<String> names = list().stream().map(DeviceInfo::name).toList();
        if (names.contains(name)) {
            return "the device is there and cannot be opened: its driver library may be missing, or this user may not "
                    + "read and write /dev/infiniband/uverbs*";
        }
        return names.isEmpty() ? "this machine has no RDMA device" : "this machine has " + String.join(", ", names);
    }

    /**
     * The device that an identifier of the connection manager belongs to, by its {@code verbs} field, which is not
     * NULL; throws if its limits cannot be read.
     */
    synchronized IbverbsDevice of(MemorySegment context) throws VerbsException {
        IbverbsDevice device = devices.get(context.address());
        if (device == null) {
            scan();
            device = devices.get(context.address());
        }
        if (device == null) {
            throw new VerbsException("rdma_get_devices", Errno.ENODEV, "the device of the identifier was removed");
        }
        return device;
    }

    /** Takes up devices that are new. Each list holds its devices open: it is freed only if it brought no new one. */
    private void scan() throws VerbsException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
            MemorySegment list = ControlCall.RDMA_GET_DEVICES.pointer("", count);
            boolean keep = false;
            try {
                devices.values().forEach(d -> d.present = false);
                for (int i = 0; i < count.get(ValueLayout.JAVA_INT, 0); i++) {
                    keep |= take(IbverbsCalls.pointer(list, i));
                }
            } finally {
                if (!keep) {
                    ControlCall.RDMA_FREE_DEVICES.run(list);
                }
            }
        }
    }

    /** Whether the context is new. */
    private boolean take(MemorySegment context) {
        IbverbsDevice device = devices.get(context.address());
        if (device != null) {
            device.present = true;
            return false;
        }
        try {
            MemorySegment struct = IbverbsCalls.pointerAt(context, rdma_h.IBV_CONTEXT_DEVICE());
            devices.put(context.address(), new IbverbsDevice(context, info(struct)));
            return true;
        } catch (VerbsException e) {
            // One device that is just being removed must not keep the others from being used.
            LOG.warn("a device is left out: {}", e.getMessage());
            return false;
        }
    }
}
