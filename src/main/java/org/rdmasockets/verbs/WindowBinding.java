package org.rdmasockets.verbs;

import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/**
 * The memory that a window gives access to ({@code struct ibv_mw_bind_info}).
 *
 * @param window the window, which is not bound
 * @param region a region with {@link AccessFlag#MEMORY_WINDOW_BIND}, which has to stay open as long as the window is
 *         bound
 * @param offsetBytes where the part begins
 * @param lengthBytes how long it is, at least 1
 * @param access the peer's rights, of {@link AccessFlag#REMOTE_WRITE}, {@link AccessFlag#REMOTE_READ} and
 *         {@link AccessFlag#REMOTE_ATOMIC}; to change memory, the region needs {@link AccessFlag#LOCAL_WRITE}
 * @since 0.1
 */
public record WindowBinding(MemoryWindow window, MemoryRegion region, long offsetBytes, long lengthBytes,
        Set<AccessFlag> access) {
    private static final Set<AccessFlag> REMOTE = EnumSet.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_ATOMIC);

    /**
     * Checks as much as is possible without a device.
     *
     * @throws IndexOutOfBoundsException if the part is not inside the region
     * @throws IllegalArgumentException if the part is empty, or a flag is not one for peers, or the region does not
     *         allow windows
     */
    public WindowBinding {
        Objects.requireNonNull(window);
        Objects.checkFromIndexSize(offsetBytes, lengthBytes, region.lengthBytes());
        access = Set.copyOf(access);
        if (lengthBytes == 0 || !REMOTE.containsAll(access)) {
            throw new IllegalArgumentException("a window has at least one byte and gives remote access, not "
                    + lengthBytes + " bytes and " + access);
        }
        if (!region.access().contains(AccessFlag.MEMORY_WINDOW_BIND)) {
            throw new IllegalArgumentException("the region was registered without MEMORY_WINDOW_BIND");
        }
    }
}
