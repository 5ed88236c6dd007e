package org.rdmasockets.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The checks of a DMA-BUF before any device sees it. */
class DmaBufferTest {
    @Test
    void offsetAndAddressAreAtTheSamePlaceOfTheirPages() {
        assertEquals(4096 + 100, new DmaBuffer(3, 4096 + 100, 50, 0x7f0000000000L + 100).offsetBytes());
        assertEquals(0, new DmaBuffer(3, 8192, 50, 0).address());
        String text = assertThrows(IllegalArgumentException.class, () -> new DmaBuffer(3, 4096, 50, 100)).getMessage();
        assertTrue(text.contains("offsetBytes=4096") && text.contains("address=100"), text);
    }

    @ParameterizedTest
    @CsvSource({"-1, 0, 1", "3, -4096, 1", "3, 0, 0", "3, 0, -1", "3, 4096, 9223372036854775807"})
    void whatCannotBeIsRefused(int descriptor, long offset, long length) {
        assertThrows(IllegalArgumentException.class, () -> new DmaBuffer(descriptor, offset, length, 0));
    }
}
