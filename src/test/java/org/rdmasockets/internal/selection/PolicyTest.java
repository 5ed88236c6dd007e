package org.rdmasockets.internal.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The choice is the socket's, else the first matching rule's, else the property's; wrong settings choose nothing. */
class PolicyTest {
    private static final InetSocketAddress DATABASE = address("10.1.2.3", 5432);
    private static final InetSocketAddress ELSEWHERE = address("192.0.2.1", 80);

    @TempDir
    private Path directory;

    private static InetSocketAddress address(String host, int port) {
        return new InetSocketAddress(InetAddress.ofLiteral(host), port);
    }

    private static Policy policy(String... namesAndValues) {
        Properties properties = new Properties();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            properties.setProperty(namesAndValues[i], namesAndValues[i + 1]);
        }
        return Policy.of(properties);
    }

    private String rules(String text) throws IOException {
        return Files.writeString(directory.resolve("my.rules"), text).toString();
    }

    @Test
    void nothingSaidIsAutoWithTcp() throws SocketException {
        Policy policy = policy();
        assertTrue(policy.decide(null, ELSEWHERE).isAuto());
        assertTrue(policy.fallback());
        assertNull(policy.mistake());
    }

    @Test
    void theFirstRuleThatMatchesComesBeforeTheProperty() throws IOException {
        String file = rules("""
                # databases stay on TCP

                tcp   10.0.0.0/8  5432   # PostgreSQL
                auto  10.0.0.0/8  *
                """);
        Policy policy = policy(Policy.TRANSPORT_PROPERTY, "ibverbs", Policy.RULES_PROPERTY, file);
        Policy.Decision database = policy.decide(null, DATABASE);
        assertEquals("tcp", database.transport());
        assertTrue(database.reason().contains(file + ":3"), database::reason);
        assertEquals("auto", policy.decide(null, address("10.1.2.3", 5433)).transport());
        Policy.Decision other = policy.decide(null, ELSEWHERE);
        assertEquals("ibverbs", other.transport());
        assertTrue(other.reason().contains("-Dorg.rdmasockets.transport"), other::reason);
    }

    @Test
    void theSocketsWishComesFirst() throws IOException {
        Policy policy = policy(Policy.TRANSPORT_PROPERTY, "ibverbs", Policy.RULES_PROPERTY, rules("tcp * *"));
        assertEquals("sharedmemory", policy.decide("sharedmemory", DATABASE).transport());
        assertTrue(policy.decide("auto", DATABASE).isAuto());
    }

    @Test
    void tcpCanBeForbidden() {
        assertFalse(policy(Policy.FALLBACK_PROPERTY, "never").fallback());
    }

    @Test
    void mistakesAreToldToEverybodyWithoutAWish() throws IOException {
        assertTells(policy(Policy.TRANSPORT_PROPERTY, "rdma"), "-Dorg.rdmasockets.transport: 'rdma' is no transport");
        assertTells(policy(Policy.FALLBACK_PROPERTY, "no"), "-Dorg.rdmasockets.transport.fallback=no");
        String file = rules("tcp * *\ntcp * http\n");
        assertTells(policy(Policy.RULES_PROPERTY, file), file + ":2: 'http' is no port");
        String missing = directory.resolve("missing").toString();
        assertTells(policy(Policy.RULES_PROPERTY, missing), missing);
    }

    private static void assertTells(Policy policy, String text) throws SocketException {
        SocketException e = assertThrows(SocketException.class, () -> policy.decide(null, ELSEWHERE));
        assertTrue(e.getMessage().contains(text), e::getMessage);
        assertEquals("tcp", policy.decide("tcp", ELSEWHERE).transport());
    }
}
