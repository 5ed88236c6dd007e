package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.SocketFixture.Ability;

/** Names, scopes and wildcards: each end tells what it was given, and what the system made of it. */
abstract class AddressContract extends SocketContract {
    private static final String NAME = "some.name.invalid";

    /** The family's address with a name that does not resolve. */
    private InetAddress named() throws IOException {
        return InetAddress.getByAddress(NAME, fixture().address().getAddress());
    }

    private static void assertNamed(Object address) {
        assertTrue(address.toString().startsWith(NAME + "/"), address::toString);
    }

    private static void assertUnnamed(Object address) {
        assertTrue(address.toString().startsWith("/"), address::toString);
    }

    @Test
    void theConnectingEndKeepsTheNameThatItWasGiven() throws IOException {
        ServerSocket listener = listening();
        Socket client = socket();
        client.connect(new InetSocketAddress(named(), listener.getLocalPort()));
        Socket server = acceptFrom(listener);
        assertNamed(client.getInetAddress());
        assertNamed(client.getRemoteSocketAddress());
        assertTrue(client.toString().startsWith("Socket[addr=" + NAME + "/"), client::toString);
        assertUnnamed(client.getLocalAddress());
        assertUnnamed(client.getLocalSocketAddress());
        assertUnnamed(server.getInetAddress());
        assertUnnamed(server.getRemoteSocketAddress());
        assertUnnamed(server.getLocalAddress());
        client.close();
        assertNamed(client.getInetAddress());
    }

    @Test
    void aListenerKeepsTheNameThatItWasBoundBy() throws IOException {
        ServerSocket listener = serverSocket();
        listener.bind(new InetSocketAddress(named(), 0));
        assertNamed(listener.getInetAddress());
        assertNamed(listener.getLocalSocketAddress());
        String text = "ServerSocket[addr=" + listener.getInetAddress() + ",localport=" + listener.getLocalPort() + "]";
        assertEquals(text, listener.toString());
        connectedTo(listener);
        Socket server = acceptFrom(listener);
        assertUnnamed(server.getLocalAddress());
        assertUnnamed(server.getInetAddress());
        assertUnnamed(server.getRemoteSocketAddress());
        listener.close();
        assertEquals(text, listener.toString());
        assertNamed(listener.getLocalSocketAddress());
    }

    @Test
    void aClientForgetsTheNameThatItWasBoundBy() throws IOException {
        Socket client = socket();
        client.bind(new InetSocketAddress(named(), 0));
        assertUnnamed(client.getLocalAddress());
        assertEquals(fixture().address(), client.getLocalAddress());
        assertTrue(client.getLocalPort() > 0);
    }

    @Test
    void wildcardsHaveTheirText() throws IOException {
        ServerSocket listener = serverSocket();
        listener.bind(null);
        assertEquals("ServerSocket[addr=0.0.0.0/0.0.0.0,localport=" + listener.getLocalPort() + "]",
                listener.toString());
        Socket client = socket();
        client.bind(new InetSocketAddress(0));
        assertEquals("Socket[unconnected]", client.toString());
        assertEquals(new InetSocketAddress(client.getLocalPort()), client.getLocalSocketAddress());
        client.close();
        assertEquals(new InetSocketAddress(client.getLocalPort()), client.getLocalSocketAddress());
    }

    @Test
    void portsAreOfOneAddress() throws IOException {
        Assumptions.assumeTrue(fixture().address().isLoopbackAddress(), "there is one address");
        ServerSocket first = listening();
        ServerSocket second = serverSocket();
        second.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.2"), first.getLocalPort()));
        Socket client = socket();
        client.connect(second.getLocalSocketAddress());
        assertEquals(second.getInetAddress(), acceptFrom(second).getLocalAddress());
    }

    @Test
    void theWildcardTakesBothVersionsAndTellsThemApart() throws IOException {
        needs(Ability.IPV6);
        ServerSocket listener = serverSocket();
        listener.bind(new InetSocketAddress(InetAddress.ofLiteral("::"), 0));
        connectedTo(listener);
        Socket four = acceptFrom(listener);
        assertInstanceOf(Inet4Address.class, four.getInetAddress());
        assertInstanceOf(Inet4Address.class, four.getLocalAddress());
        Socket client = socket();
        client.connect(new InetSocketAddress(fixture().address6().orElseThrow(), listener.getLocalPort()));
        Socket six = acceptFrom(listener);
        assertInstanceOf(Inet6Address.class, six.getInetAddress());
        assertEquals(fixture().address6().orElseThrow(), six.getLocalAddress());
    }

    @Test
    void noTwoConnectionsComeFromOnePort() throws IOException {
        ServerSocket listener = listening();
        Socket bound = socket();
        bound.bind(new InetSocketAddress(fixture().address(), 0));
        bound.connect(addressOf(listener));
        for (Socket first : new Socket[] {bound, connectedTo(listener)}) {
            InetSocketAddress taken = new InetSocketAddress(fixture().address(), first.getLocalPort());
            Socket twin = socket();
            assertRefused(BindException.class, "Address already in use", () -> {
                twin.bind(taken);
                twin.connect(addressOf(listener));
            });
            Socket other = acceptFrom(listener);
            assertEquals(taken, other.getRemoteSocketAddress());
            first.getOutputStream().write(1);
            assertEquals(1, other.getInputStream().read());
        }
    }

    @Test
    void anAddressOfOneVersionReachesNoneOfTheOther() throws IOException {
        needs(Ability.IPV6);
        InetAddress six = fixture().address6().orElseThrow();
        ServerSocket listener = serverSocket();
        listener.bind(new InetSocketAddress(InetAddress.ofLiteral("::"), 0));
        Socket fromFour = socket();
        fromFour.bind(new InetSocketAddress(fixture().address(), 0));
        assertRefused(SocketException.class, "Address family not supported by protocol",
                () -> fromFour.connect(new InetSocketAddress(six, listener.getLocalPort())));
        Socket fromSix = socket();
        fromSix.bind(new InetSocketAddress(six, 0));
        assertRefused(SocketException.class, "Network is unreachable", () -> fromSix.connect(addressOf(listener)));
        assertTrue(fromFour.isClosed() && fromSix.isClosed());
    }

    @Test
    void linkLocalAddressesKeepTheirScope() throws IOException {
        Inet6Address address = linkLocal();
        ServerSocket listener = serverSocket();
        listener.bind(new InetSocketAddress(address, 0));
        assertScope(address, listener.getInetAddress());
        Socket client = socket();
        client.connect(new InetSocketAddress(address, listener.getLocalPort()));
        Socket server = acceptFrom(listener);
        assertScope(address, client.getInetAddress());
        assertScope(address, client.getLocalAddress());
        assertScope(address, server.getInetAddress());
        assertScope(address, server.getLocalAddress());
        client.getOutputStream().write(6);
        assertEquals(6, server.getInputStream().read());
    }

    private static void assertScope(Inet6Address expected, InetAddress actual) {
        assertEquals(expected, actual);
        assertEquals(expected.getScopeId(), ((Inet6Address) actual).getScopeId(), actual::toString);
    }

    /** That of the family's interface; where the family is at home on loopback, which has none, any. */
    private Inet6Address linkLocal() throws IOException {
        boolean anywhere = fixture().address().isLoopbackAddress();
        Optional<Inet6Address> found = NetworkInterface.networkInterfaces()
                .filter(each -> anywhere || each.inetAddresses().anyMatch(fixture().address()::equals))
                .flatMap(NetworkInterface::inetAddresses).filter(InetAddress::isLinkLocalAddress)
                .filter(Inet6Address.class::isInstance).map(Inet6Address.class::cast).findFirst();
        if (found.isEmpty()) {
            String reason = "no interface to use has a link-local address of version 6";
            System.out.println(getClass().getSimpleName() + " skips a trial, " + reason);
            Assumptions.abort(reason);
        }
        return found.orElseThrow();
    }

    @Test
    void theDestinationMayBeTheWildcardOfVersion6() throws IOException {
        needs(Ability.IPV6);
        ServerSocket listener = serverSocket();
        listener.bind(null);
        Socket client = socket();
        client.bind(new InetSocketAddress(fixture().address(), 0));
        client.connect(new InetSocketAddress(InetAddress.ofLiteral("::"), listener.getLocalPort()));
        assertFalse(client.getInetAddress().isAnyLocalAddress());
        assertFalse(acceptFrom(listener).getLocalAddress().isAnyLocalAddress());
    }
}
