package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** Memory is given back once, by the last who leaves it, and can be closed again where that fails. */
class DirectMemoryTest {
    private int given;
    private boolean borrowed;
    private final DirectMemory memory = new DirectMemory(null, null, MemorySegment.NULL, region -> {
        if (borrowed) {
            throw new IllegalStateException("somebody has it");
        }
        given++;
    });

    @Test
    void theLastWhoLeavesGivesItBack() {
        memory.enter(null);
        memory.enter(null);
        memory.close();
        assertThrows(IllegalStateException.class, () -> memory.enter(null));
        memory.leave();
        assertEquals(0, given);
        memory.leave();
        memory.close();
        assertEquals(1, given);
    }

    @Test
    void whatTheDeviceStillReadsIsNotGivenBack() {
        memory.enter(null);
        memory.keep();
        memory.leave();
        memory.close();
        assertEquals(0, given);
        assertThrows(IllegalStateException.class, memory::segment);
        memory.leave();
        assertEquals(1, given);
    }

    @Test
    void aCloseThatFailsCanBeRepeated() {
        borrowed = true;
        assertThrows(IllegalStateException.class, memory::close);
        assertThrows(IllegalStateException.class, memory::close);
        assertEquals(MemorySegment.NULL, memory.segment());
        borrowed = false;
        memory.close();
        memory.close();
        assertEquals(1, given);
    }

    @Test
    void aCloseThatFailsDoesNotFailTheWrite() {
        memory.enter(null);
        memory.close();
        borrowed = true;
        assertDoesNotThrow(memory::leave);
        assertEquals(MemorySegment.NULL, memory.segment());
        borrowed = false;
        memory.close();
        assertEquals(1, given);
    }
}
