package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.function.Executable;
import org.rdmasockets.TestDevice;
import org.rdmasockets.far.Here;
import org.rdmasockets.far.Holder;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.Gid;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/** The base of all contracts of verbs: an event loop, and resources that are closed at the end. */
abstract class VerbsContract implements Placed {
    /** Closed after the test, the last one first. */
    private final Deque<AutoCloseable> resources = new ArrayDeque<>();
    private EventLoop loop;

    private VerbsFixture fixture;

    @Override
    public final void runsIn(Place.Entered where) {
        fixture = where.place() == Place.DEVICE
                ? new VerbsFixture(Providers.ibverbs(), TestDevice.name(), TestDevice.address())
                : new VerbsFixture(Providers.sharedMemory(), "sharedmemory", where.fixture().address());
    }

    /** The provider, device and address under test. */
    VerbsFixture fixture() {
        return fixture;
    }

    @BeforeEach
    void startLoop() throws VerbsException {
        loop = new EventLoop(provider());
    }

    @AfterEach
    void closeAll() throws Exception {
        while (!resources.isEmpty()) {
            resources.pop().close();
        }
        loop.close();
    }

    VerbsProvider provider() {
        return fixture().provider();
    }

    Device device() throws VerbsException {
        return provider().open(fixture().device());
    }

    EventLoop loop() {
        return loop;
    }

    /** Closes the resource after the test. */
    <T extends AutoCloseable> T closing(T resource) {
        resources.push(resource);
        return resource;
    }

    /** Two connected ends. */
    Pair connect() throws VerbsException {
        return closing(new Pair(loop, fixture().address()));
    }

    /** Two connected ends on one completion queue. */
    Pair connect(CompletionQueue shared) throws VerbsException {
        return closing(new Pair(loop, fixture().address(), shared));
    }

    /** The acceptor for trials whose accepting side may be in another JVM: in this one unless overridden. */
    Holder<Acceptor> newAcceptor() throws VerbsException {
        return new Here<>(new Acceptor(provider(), fixture().address()));
    }

    /** {@link #newAcceptor}, until the end of the test. */
    Holder<Acceptor> acceptor() throws VerbsException {
        Holder<Acceptor> acceptor = newAcceptor();
        closing(() -> acceptor.tell(a -> a.close()));
        return acceptor;
    }

    /** Two connected ends, of which the passive one may be in another JVM. */
    Duo connectDuo() throws VerbsException {
        return closing(new Duo(loop, acceptor()));
    }

    /** The index of the GID that is the fixture's address. */
    int gidIndex(Device device) throws VerbsException {
        byte[] address = fixture().address().getAddress();
        for (int i = 0; i < device.port(1).gidTableLength(); i++) {
            byte[] gid = device.gid(1, i).bytes();
            if (Arrays.equals(gid, Gid.LENGTH_BYTES - address.length, Gid.LENGTH_BYTES, address, 0,
                    address.length)) {
                return i;
            }
        }
        throw new AssertionError("no GID is " + fixture().address());
    }

    /** Goes on only where the device has the capability. */
    void needs(Capability capability) throws VerbsException {
        assumeTrue(device().supports(capability), device() + " lacks " + capability);
    }

    /** A call that has to fail with that errno, in words that contain the text. */
    static VerbsException refused(Errno errno, String text, Executable call) {
        VerbsException e = assertThrows(VerbsException.class, call);
        assertEquals(errno, e.errno(), e::getMessage);
        assertTrue(e.getMessage().contains(text), () -> "\"" + text + "\" is not in: " + e.getMessage());
        return e;
    }

    /** A call on something that is closed. */
    static void refusedAsClosed(Executable call) {
        refused(Errno.ESHUTDOWN, "is closed", call);
    }
}
