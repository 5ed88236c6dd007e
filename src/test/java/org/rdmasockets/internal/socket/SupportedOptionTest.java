package org.rdmasockets.internal.socket;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import jdk.net.ExtendedSocketOptions;
import org.junit.jupiter.api.Test;

/** The options of a socket, before a connection has them. */
class SupportedOptionTest {
    @Test
    void keepAliveOptionsBecomeOneProbe() throws IOException {
        OptionValues values = new OptionValues();
        SupportedOption.of(ExtendedSocketOptions.TCP_KEEPINTERVAL, false).set(values, 5);
        SupportedOption.of(ExtendedSocketOptions.TCP_KEEPCOUNT, false).set(values, 3);
        assertEquals(15, values.sizes.keepAliveProbeSeconds());
    }
}
