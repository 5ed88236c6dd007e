package org.rdmasockets.internal.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rules match what they say, and say what is wrong with them. */
class RuleTest {
    private static boolean matches(String rule, String address, int port) {
        return Rule.parse(rule, "rules:1").matches(new InetSocketAddress(InetAddress.ofLiteral(address), port));
    }

    @ParameterizedTest
    @CsvSource({
        "tcp * *, 192.0.2.1, 1", "tcp * *, ::1, 65535", "tcp * *, 0.0.0.0, 0",
        "ibverbs 10.77.0.1 7000-7999, 10.77.0.1, 7000", "ibverbs 10.77.0.1 7000-7999, 10.77.0.1, 7999",
        "tcp 10.0.0.0/8 5432, 10.255.1.2, 5432", "tcp 10.0.0.0/9 *, 10.127.255.255, 3",
        "tcp 10.128.0.0/9 *, 10.200.0.1, 3", "tcp 192.0.2.129/32 *, 192.0.2.129, 3", "tcp 0.0.0.0/0 80, 192.0.2.1, 80",
        "auto fd77::/16 *, fd77:1::5, 80", "'\ttcp   ::1  80 ', ::1, 80"})
    void matchWithin(String rule, String address, int port) {
        assertTrue(matches(rule, address, port));
    }

    @ParameterizedTest
    @CsvSource({
        "ibverbs 10.77.0.1 7000-7999, 10.77.0.1, 6999", "ibverbs 10.77.0.1 7000-7999, 10.77.0.1, 8000",
        "ibverbs 10.77.0.1 *, 10.77.0.2, 7000", "tcp 10.0.0.0/9 *, 10.128.0.0, 3", "tcp 10.128.0.0/9 *, 10.127.0.1, 3",
        "tcp 192.0.2.128/31 *, 192.0.2.130, 3", "tcp 0.0.0.0/0 *, ::1, 80", "tcp ::/0 *, 127.0.0.1, 80",
        "tcp * 80, 192.0.2.1, 81", "tcp * 1-65535, 192.0.2.1, 0", "tcp 0.0.0.0/0 *, 0.0.0.0, 80"})
    void doNotMatchBeyond(String rule, String address, int port) {
        assertFalse(matches(rule, address, port));
    }

    @Test
    void hostsMayBeNames() {
        assertTrue(matches("tcp localhost *", "127.0.0.1", 80));
        assertFalse(matches("tcp localhost *", "192.0.2.1", 80));
    }

    @ParameterizedTest
    @CsvSource({
        "tcp *, is no rule", "tcp * 1 2, is no rule", "udp * *, 'one of auto, sharedmemory, ibverbs, tcp'",
        "TCP * *, is no transport", "tcp * 0, is no port", "tcp * 65536, is no port", "tcp * 9-8, is no port",
        "tcp * 1-, is no port", "tcp * -1, is no port", "tcp * http, is no port", "tcp * 123456, is no port",
        "tcp 10.0.0.0/33 *, 0 to 32 bits", "tcp ::1/129 *, 0 to 128 bits", "tcp 10.0.0.0/ *, is no prefix",
        "tcp 10.0.0.0/-1 *, is no prefix", "tcp no.such.host.invalid *, is no host"})
    void mistakesAreNamedWithFileAndLine(String rule, String text) {
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> Rule.parse(rule, "my.rules:7"));
        assertTrue(e.getMessage().startsWith("my.rules:7: "), e::getMessage);
        assertTrue(e.getMessage().contains(text), e::getMessage);
    }

    @Test
    void rulesKnowTheirOrigin() {
        assertEquals("my.rules:7", Rule.parse("tcp * *", "my.rules:7").origin());
    }
}
