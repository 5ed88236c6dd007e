package org.rdmasockets;

import java.io.UncheckedIOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.Optional;

/** The RDMA device that tests tagged "device" use, by system properties. */
public final class TestDevice {
    /** Property with the device's name, such as {@code rxe0}. */
    public static final String NAME = "org.rdmasockets.test.device";
    /** Property with the device's IPv4 address. */
    public static final String ADDRESS = "org.rdmasockets.test.address";
    /** Property with the device's IPv6 address; without it, one of the same network interface is taken. */
    public static final String ADDRESS6 = "org.rdmasockets.test.address6";

    private TestDevice() {
    }

    /**
     * The device's name.
     *
     * @return such as {@code rxe0}
     */
    public static String name() {
        return required(NAME);
    }

    /**
     * The device's address.
     *
     * @return of version 4
     */
    public static InetAddress address() {
        return InetAddress.ofLiteral(required(ADDRESS));
    }

    /**
     * The device's address of version 6.
     *
     * @return empty if none was given and the network interface has none but link-local ones
     */
    public static Optional<InetAddress> address6() {
        String given = System.getProperty(ADDRESS6);
        return given != null ? Optional.of(InetAddress.ofLiteral(given)) : addressOfSameInterface();
    }

    private static Optional<InetAddress> addressOfSameInterface() {
        try {
            NetworkInterface holder = NetworkInterface.getByInetAddress(address());
            return holder == null ? Optional.empty() : holder.inetAddresses()
                    .filter(a -> a instanceof Inet6Address && !a.isLinkLocalAddress()).findFirst()
                    .map(a -> InetAddress.ofLiteral(a.getHostAddress().split("%")[0]));
        } catch (SocketException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String required(String property) {
        String value = System.getProperty(property);
        if (value == null) {
            throw new IllegalStateException("run this in the test guest (src/test/guest), with -D" + property);
        }
        return value;
    }
}
