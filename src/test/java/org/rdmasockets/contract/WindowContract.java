package org.rdmasockets.contract;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.MemoryRegion;
import org.rdmasockets.verbs.MemoryWindow;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.WindowBinding;
import org.rdmasockets.verbs.WorkCompletionStatus;

/** Memory windows of type 2: the passive end binds them, the active end uses them. */
abstract class WindowContract extends VerbsContract {
    private static final int VALUE = 0x04030201;
    private static final int OFFSET = 1000;
    private static final int LENGTH = 100;
    private static final Set<AccessFlag> WRITE = Set.of(AccessFlag.REMOTE_WRITE);

    private Pair pair;
    private MemoryRegion region;
    private MemoryWindow window;

    @BeforeEach
    void connectEnds() throws VerbsException {
        pair = connect();
        if (device().supports(Capability.MEMORY_WINDOWS)) {
            region = closing(pair.passive.domain.allocate(4096, Set.of(AccessFlag.LOCAL_WRITE,
                    AccessFlag.MEMORY_WINDOW_BIND)));
            window = closing(pair.passive.domain.allocateMemoryWindow());
        }
    }

    private void bind(Set<AccessFlag> access) throws VerbsException {
        pair.passive.send.bind(1, new WindowBinding(window, region, OFFSET, LENGTH, access)).signalled();
        pair.passive.postSend();
        assertEquals(CompletionOpcode.BIND_WINDOW, pair.passive.awaitSuccess(1).opcode());
    }

    private void invalidate() throws VerbsException {
        pair.passive.send.invalidate(2, window.remoteKey()).signalled();
        pair.passive.postSend();
        assertEquals(CompletionOpcode.INVALIDATE, pair.passive.awaitSuccess(2).opcode());
    }

    private WorkCompletionStatus write(int offset, int key) throws VerbsException {
        pair.active.memory.set(JAVA_INT, 0, VALUE);
        pair.active.send.write(3, region.address() + offset, key).add(pair.active.region, 0, 4).signalled();
        pair.active.postSend();
        return pair.active.await().status();
    }

    @Test
    void aWindowGivesAccessToItsPart() throws VerbsException {
        needs(Capability.MEMORY_WINDOWS);
        bind(WRITE);
        assertEquals(WorkCompletionStatus.SUCCESS, write(OFFSET + LENGTH - 4, window.remoteKey()));
        assertEquals(VALUE, region.segment().get(JAVA_INT, OFFSET + LENGTH - 4));
    }

    @Test
    void aWindowGivesAccessToNothingBeyondItsRegion() throws VerbsException {
        needs(Capability.MEMORY_WINDOWS);
        bind(WRITE);
        assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, write(4096 - 3, window.remoteKey()));
    }

    @Test
    void aWindowGivesAccessToNothingElse() throws VerbsException {
        needs(Capability.MEMORY_WINDOW_BOUNDS);
        bind(WRITE);
        assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, write(OFFSET + LENGTH - 3, window.remoteKey()));
        assertEquals(0, region.segment().get(JAVA_INT, OFFSET + LENGTH));
    }

    @Test
    void aWindowForReadingIsNotForWriting() throws VerbsException {
        needs(Capability.MEMORY_WINDOWS);
        region.segment().set(JAVA_INT, OFFSET, VALUE);
        bind(Set.of(AccessFlag.REMOTE_READ));
        pair.active.send.read(3, region.address() + OFFSET, window.remoteKey()).add(pair.active.region, 100, 4)
                .signalled();
        pair.active.postSend();
        pair.active.awaitSuccess(3);
        assertEquals(VALUE, pair.active.memory.get(JAVA_INT, 100));
        assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, write(OFFSET, window.remoteKey()));
    }

    @Test
    void anInvalidKeyReachesNothing() throws VerbsException {
        needs(Capability.MEMORY_WINDOWS);
        bind(WRITE);
        invalidate();
        assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, write(OFFSET, window.remoteKey()));
        assertEquals(0, region.segment().get(JAVA_INT, OFFSET));
    }

    @Test
    void eachBindingHasAKeyOfItsOwn() throws VerbsException {
        needs(Capability.MEMORY_WINDOWS);
        bind(WRITE);
        int first = window.remoteKey();
        invalidate();
        bind(WRITE);
        assertNotEquals(first, window.remoteKey());
        assertEquals(WorkCompletionStatus.SUCCESS, write(OFFSET, window.remoteKey()));
        assertEquals(WorkCompletionStatus.REMOTE_ACCESS_ERROR, write(OFFSET + 4, first));
    }

    @Test
    void aWindowThatIsClosedOrOfAnotherDomainIsRefused() throws VerbsException {
        needs(Capability.MEMORY_WINDOWS);
        MemoryWindow other = closing(pair.active.domain.allocateMemoryWindow());
        SendRequest send = pair.passive.send;
        send.bind(1, new WindowBinding(other, region, 0, 10, WRITE));
        assertEquals(Errno.EINVAL.number(), pair.passive.queuePair.postSend(send));
        window.close();
        window.close();
        send.bind(1, new WindowBinding(window, region, 0, 10, WRITE));
        assertEquals(Errno.EINVAL.number(), pair.passive.queuePair.postSend(send));
    }

    @Test
    void aBindingIsCheckedBeforeAnyDeviceSeesIt() throws VerbsException {
        needs(Capability.MEMORY_WINDOWS);
        assertThrows(IndexOutOfBoundsException.class, () -> new WindowBinding(window, region, 4090, 7, WRITE));
        assertThrows(IllegalArgumentException.class, () -> new WindowBinding(window, region, 0, 0, WRITE));
        assertThrows(IllegalArgumentException.class,
                () -> new WindowBinding(window, region, 0, 1, Set.of(AccessFlag.LOCAL_WRITE)));
        assertThrows(IllegalArgumentException.class,
                () -> new WindowBinding(window, pair.passive.region, 0, 1, WRITE));
    }

    @Test
    void aDeviceWithoutWindowsSaysSo() throws VerbsException {
        assumeFalse(device().supports(Capability.MEMORY_WINDOWS), device() + " has memory windows");
        ProtectionDomain domain = pair.passive.domain;
        refused(Errno.EOPNOTSUPP, "MEMORY_WINDOWS", () -> domain.allocateMemoryWindow());
        pair.passive.send.invalidate(1, pair.passive.region.remoteKey());
        assertEquals(Errno.EOPNOTSUPP.number(), pair.passive.queuePair.postSend(pair.passive.send));
    }
}
