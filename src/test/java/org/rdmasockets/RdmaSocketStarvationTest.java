package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Saturated connections do not starve others. {@code StarvationProbe} measures by how much. */
@Tag("device")
class RdmaSocketStarvationTest {
    /** The aim is 200 ms; an emulated machine that shares its processors may stand still for longer by itself. */
    private static final long LIMIT_MILLIS = 3000;

    @Test
    void saturatedPairsLetOthersRun() throws Exception {
        StarvationProbe.Maxima maxima = StarvationProbe.measure(TestDevice.address(), 5, 2);
        System.out.println("two saturated pairs: " + maxima);
        assertTrue(maxima.pingPongsPerSecond() > 0, maxima::toString);
        assertTrue(maxima.worst() < LIMIT_MILLIS, maxima::toString);
    }
}
