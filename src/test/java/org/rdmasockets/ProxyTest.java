package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.internal.sharedmemory.ChildJvm;

/** SOCKS proxies are asked where java.net asks them, unless a transport is forced. */
@Timeout(120)
class ProxyTest {
    private static final List<String> TRIALS = List.of("no proxy unresolved", "loopback", "proxied", "unresolved",
            "six", "selected", "failing selector", "no selector");

    @Test
    void proxiesAreAskedWhereJavaNetAsksThem() throws Exception {
        String output = ChildJvm.run(List.of(), List.of("--enable-native-access=ALL-UNNAMED",
                "--add-opens=java.base/java.net=ALL-UNNAMED"), ProxyMain.class);
        Map<String, String> outcomes = output.lines().filter(line -> !line.startsWith("[") && line.contains(": "))
                .collect(Collectors.toMap(line -> line.substring(0, line.indexOf(": ")), Function.identity(),
                        (first, second) -> second));
        for (String trial : TRIALS) {
            String expected = of("java.net " + trial, outcomes, output);
            assertEquals(expected, of("ours " + trial, outcomes, output), trial);
            assertEquals(expected, of("installed " + trial, outcomes, output), trial);
        }
        assertTrue(of("java.net unresolved", outcomes, output).endsWith("proxy asked 1"), output);
        assertTrue(of("java.net selected", outcomes, output).endsWith("proxy asked 1"), output);
        assertEquals(of("java.net without", outcomes, output), of("installed without", outcomes, output));
        assertTrue(of("forced", outcomes, output).startsWith("connected, to what was asked for: true"), output);
        assertTrue(of("forced", outcomes, output).endsWith("proxy asked 0"), output);
        assertTrue(of("forced unresolved", outcomes, output).startsWith("java.net.UnknownHostException: known."),
                output);
    }

    private static String of(String trial, Map<String, String> outcomes, String output) {
        String line = outcomes.get(trial);
        assertTrue(line != null, () -> trial + " is missing in " + output);
        return line.substring(trial.length() + 2);
    }
}
