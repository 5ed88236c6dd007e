package org.rdmasockets.verbs;

/**
 * An RDMA device of this machine before it is opened ({@code struct ibv_device}).
 *
 * @param name the kernel's name, such as {@code mlx5_0} or {@code rxe0}
 * @param guid the node GUID, 0 when the kernel gives none
 * @param transport the transport that carries its packets
 * @since 0.1
 */
public record DeviceInfo(String name, long guid, TransportType transport) {
    /**
     * {@return the maker of the device: the first 24 bits of the GUID, by the numbers of the IEEE, 0 when the kernel
     * gives none}
     */
    public int oui() {
        return (int) (guid >>> 40);
    }

    /** {@return the GUID as tools print it: four groups of four hexadecimal digits with colons between} */
    public String guidText() {
        return "%04x:%04x:%04x:%04x".formatted(guid >>> 48, guid >>> 32 & 0xffff, guid >>> 16 & 0xffff, guid & 0xffff);
    }
}
