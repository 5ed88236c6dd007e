package org.rdmasockets.verbs;

import java.util.Optional;

/**
 * A permission or property of registered memory ({@code enum ibv_access_flags}); local reading is always allowed. A
 * flag that a device lacks the capability for is refused, by name; {@link #RELAXED_ORDERING} alone is a wish.
 *
 * @since 0.1
 */
public enum AccessFlag {
    /** The local device may write: needed for receives, reads and atomics into this memory. */
    LOCAL_WRITE(null),
    /** A peer may write; requires {@link #LOCAL_WRITE}. */
    REMOTE_WRITE(null),
    /** A peer may read. */
    REMOTE_READ(null),
    /** A peer may compare-and-swap and fetch-and-add; requires {@link #LOCAL_WRITE}. */
    REMOTE_ATOMIC(null),
    /** Memory windows may be bound to it. */
    MEMORY_WINDOW_BIND(Capability.MEMORY_WINDOWS),
    /** Addresses are offsets: peers and requests name the first byte 0. The memory has to begin at a page. */
    ZERO_BASED(Capability.ZERO_BASED_MEMORY),
    /** Pages are not pinned: the device takes them when it needs them. */
    ON_DEMAND(Capability.ON_DEMAND_PAGING),
    /** The memory is of huge pages, so that the device needs fewer entries for it. */
    HUGE_PAGES(Capability.HUGE_PAGES),
    /**
     * The device may let writes overtake each other on their way into memory; only completions are in order then. A
     * program that looks at the memory itself for arrived data must not set it. Devices without it ignore it.
     */
    RELAXED_ORDERING(null);

    private final Capability needed;

    AccessFlag(Capability needed) {
        this.needed = needed;
    }

    /** {@return the capability of a device without which it refuses this flag; empty if every device takes it} */
    public Optional<Capability> capability() {
        return Optional.ofNullable(needed);
    }
}
