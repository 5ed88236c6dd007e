package org.rdmasockets.endpoint;

/**
 * The device still works on the memory, so that it cannot be used in the way that was asked for. Await the operation
 * that is named, or use another part of the region.
 *
 * @since 0.1
 */
public final class RegionBusyException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    RegionBusyException(String message) {
        super(message);
    }
}
