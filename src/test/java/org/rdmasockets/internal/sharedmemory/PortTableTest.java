package org.rdmasockets.internal.sharedmemory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Where processes begin to look for a port. */
class PortTableTest {
    private static final int FIRST = 10_000;
    private static final int LAST = 65_535;

    /** Each port outside the kernel's range once, and none within: then no two processes are led to the same. */
    @ParameterizedTest
    @CsvSource({"32768, 60999", "1024, 20000", "10000, 10000", "60000, 65535", "0, 0"})
    void eachPortOutsideTheKernelsRangeIsAsLikely(int first, int last) {
        int[] allowed = IntStream.rangeClosed(FIRST, LAST).filter(port -> port < first || port > last).toArray();
        int[] found = IntStream.range(0, allowed.length).map(i -> PortTable.portOutside(new int[] {first, last},
                (i + 0.5) / allowed.length)).toArray();
        assertArrayEquals(allowed, found);
    }
}
