package org.rdmasockets.verbs;

/**
 * A part of memory that another device, such as a graphics processor, lends as a DMA-BUF.
 *
 * @param descriptor the file descriptor of the DMA-BUF, which may be closed once the part is registered
 * @param offsetBytes where the part begins in the buffer
 * @param lengthBytes how long it is, at least 1
 * @param address the address by which requests and peers name its first byte; at the same place in its page of 4,096
 *         bytes as the offset; where the kernel's pages are larger, it refuses what differs in its own
 * @since 0.1
 */
public record DmaBuffer(int descriptor, long offsetBytes, long lengthBytes, long address) {
    private static final long PAGE_BYTES = 4096;

    /**
     * Checks the ranges and the places in the pages.
     *
     * @throws IllegalArgumentException if something is negative, the part is empty or runs over the end of all
     *         addresses, or the places differ
     */
    public DmaBuffer {
        String text = "descriptor=" + descriptor + ", offsetBytes=" + offsetBytes + ", lengthBytes=" + lengthBytes
                + ", address=" + address;
        if (descriptor < 0 || offsetBytes < 0 || lengthBytes < 1 || offsetBytes > Long.MAX_VALUE - lengthBytes) {
            throw new IllegalArgumentException("a part of a DMA-BUF has a descriptor and an offset from 0, and at "
                    + "least one byte: " + text);
        }
        if ((offsetBytes & PAGE_BYTES - 1) != (address & PAGE_BYTES - 1)) {
            throw new IllegalArgumentException("address and offset must be at the same place of a page of "
                    + PAGE_BYTES + " bytes: " + text);
        }
    }
}
