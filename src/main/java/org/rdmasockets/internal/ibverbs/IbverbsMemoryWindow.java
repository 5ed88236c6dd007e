package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.ibverbs.generated.ibv_mw;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.MemoryWindow;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.VerbsException;

/** A memory window of type 2 over {@code ibv_mw}. The monitor is held while a bind is posted. */
final class IbverbsMemoryWindow extends NativeHandle implements MemoryWindow {
    /** The bits of a key that its owner chooses. */
    private static final int OWN_BITS = 0xff;

    private final IbverbsProtectionDomain domain;
    /** The {@code ibv_mw}, for callers that have entered this. */
    final MemorySegment pointer;
    /** Written under the monitor. */
    private volatile int remoteKey;

    /** Allocates a window; throws if the device has none, or the domain is closed. */
    IbverbsMemoryWindow(IbverbsProtectionDomain domain) throws VerbsException {
        super("memory window");
        this.domain = domain;
        IbverbsDevice device = domain.device();
        ControlCall call = device.allocateWindow;
        String text = "device=" + device;
        device.require(Capability.MEMORY_WINDOWS, call, text, "this device has no memory windows of type 2");
        pointer = domain.makeChild(call, () -> call.pointer(text, domain.pointer, rdma_h.IBV_MW_TYPE_2()));
        remoteKey = ibv_mw.rkey(pointer);
    }

    /** The key that the next bind gives it. */
    int nextKey() {
        return remoteKey & ~OWN_BITS | remoteKey + 1 & OWN_BITS;
    }

    /** Notes that a bind was posted: drivers name the window by the key it had before. The monitor is held. */
    void bound() {
        assert Thread.holdsLock(this);
        remoteKey = nextKey();
        ibv_mw.rkey(pointer, remoteKey);
    }

    @Override
    public ProtectionDomain domain() {
        return domain;
    }

    @Override
    public int remoteKey() {
        return remoteKey;
    }

    @Override
    void destroy() {
        domain.device().deallocateWindow.destroy(pointer);
        domain.release();
    }
}
