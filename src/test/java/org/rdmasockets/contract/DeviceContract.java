package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.Inet4Address;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceAttributes;
import org.rdmasockets.verbs.DeviceEvent;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.GidChoice;
import org.rdmasockets.verbs.GidEntry;
import org.rdmasockets.verbs.PortAttributes;
import org.rdmasockets.verbs.TransportType;
import org.rdmasockets.verbs.VerbsException;

/** Devices, ports and GIDs. */
abstract class DeviceContract extends VerbsContract {
    @Test
    void theProviderIsAvailable() {
        assertEquals(Optional.empty(), provider().unavailability());
    }

    @Test
    void theListHasTheDevice() throws VerbsException {
        List<DeviceInfo> named = provider().devices().stream().filter(d -> d.name().equals(fixture().device()))
                .toList();
        assertEquals(1, named.size(), "devices of that name");
        assertEquals(named.getFirst(), device().info());
    }

    @Test
    void openingTwiceGivesTheSameDevice() throws VerbsException {
        assertSame(device(), device());
    }

    @Test
    void closingADeviceLeavesItOpenForOthers() throws VerbsException {
        device().close();
        device().allocateProtectionDomain().close();
    }

    @Test
    void anIdentifierHasTheSameDevice() throws VerbsException {
        ConnectionIdentifier identifier = closing(loop().manager().createIdentifier((id, event) -> {
        }));
        identifier.bind(new InetSocketAddress(fixture().address(), 0));
        assertSame(device(), identifier.device());
        assertEquals(1, identifier.portNumber());
    }

    @Test
    void anUnknownDeviceIsRefusedByName() {
        refused(Errno.ENODEV, "no_such_device", () -> provider().open("no_such_device"));
        refused(Errno.ENODEV, fixture().device(), () -> provider().open("no_such_device"));
    }

    @Test
    void theGuidIsFormattedInGroups() throws VerbsException {
        DeviceInfo info = device().info();
        assertEquals("%016x".formatted(info.guid()), info.guidText().replace(":", ""));
        assertEquals(info.guid() >>> 40, info.oui());
    }

    @Test
    void theGidTableHasWhatIsInUse() throws VerbsException {
        Device device = device();
        List<GidEntry> table = device.gidTable(1);
        assertFalse(table.isEmpty(), "entries");
        int last = -1;
        for (GidEntry entry : table) {
            assertEquals(1, entry.portNumber());
            assertTrue(entry.index() > last, table::toString);
            last = entry.index();
            assertEquals(device.gid(1, entry.index()), entry.gid());
            assertFalse(entry.gid().isZero(), entry::toString);
        }
        refused(Errno.EINVAL, "port=0", () -> device.gidTable(0));
    }

    @Test
    void theChosenGidIsWhatTheTransportPrefers() throws VerbsException {
        Device device = device();
        GidEntry chosen = GidChoice.of(device);
        assertTrue(device.gidTable(1).contains(chosen), chosen::toString);
        if (device.info().transport() == TransportType.ROCE) {
            assertEquals(GidEntry.Type.ROCE_V2, chosen.type());
            assertTrue(chosen.gid().isIpv4() || !(fixture().address() instanceof Inet4Address), chosen::toString);
        }
    }

    @Test
    void limitsArePositive() throws VerbsException {
        DeviceAttributes a = device().attributes();
        List<Long> limits = List.of((long) a.ports(), a.maxMemoryRegionBytes(), (long) a.maxQueuePairs(),
                (long) a.maxWorkRequests(), (long) a.maxScatterGather(), (long) a.maxCompletionQueues(),
                (long) a.maxCompletionQueueEntries(), (long) a.maxMemoryRegions(), (long) a.maxProtectionDomains(),
                (long) a.maxReadsAsTarget(), (long) a.maxReadsAsInitiator());
        assertTrue(limits.stream().allMatch(limit -> limit > 0), a::toString);
    }

    @Test
    void thePortIsActive() throws VerbsException {
        PortAttributes port = device().port(1);
        assertEquals(PortAttributes.State.ACTIVE, port.state(), port::toString);
        assertTrue(port.maxMessageBytes() >= 1 << 20 && port.gidTableLength() >= 1, port::toString);
        assertTrue(port.activeMtuBytes() >= 256 && port.activeMtuBytes() <= port.maxMtuBytes(), port::toString);
    }

    @Test
    void portsOutsideTheRangeAreRefused() throws VerbsException {
        int beyond = device().attributes().ports() + 1;
        refused(Errno.EINVAL, "port=0", () -> device().port(0));
        refused(Errno.EINVAL, "port=" + beyond, () -> device().port(beyond));
        refused(Errno.EINVAL, "port=257", () -> device().gid(257, 0));
    }

    @Test
    void theGidTableCanBeRead() throws VerbsException {
        int length = device().port(1).gidTableLength();
        assertFalse(device().gid(1, 0).isZero(), "the first entry");
        refused(Errno.EINVAL, "index=" + length, () -> device().gid(1, length));
    }

    @Test
    void capabilitiesFollowTheTransport() throws VerbsException {
        Device device = device();
        boolean iwarp = device.info().transport() == TransportType.IWARP;
        for (Capability capability : List.of(Capability.IMMEDIATE_DATA, Capability.RECEIVER_NOT_READY_RETRY,
                Capability.COMPLETION_IS_DELIVERY)) {
            assertEquals(!iwarp, device.supports(capability), capability::toString);
        }
    }

    @Test
    void drainingDeviceEventsDoesNotWait() throws VerbsException {
        List<DeviceEvent> events = new ArrayList<>();
        device().drainEvents(events::add);
        device().drainEvents(event -> {
            throw new AssertionError("drained already, but " + event);
        });
    }
}
