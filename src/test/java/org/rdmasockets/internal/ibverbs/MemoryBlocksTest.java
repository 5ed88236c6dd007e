package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.internal.ffi.PageSize;

/** Memory for rings is page-aligned, zeroed, and used again. */
class MemoryBlocksTest {
    private static final long PAGE = PageSize.BYTES;

    private final MemoryBlocks blocks = new MemoryBlocks();

    @Test
    void blocksAreWholePagesAndDoNotOverlap() {
        Random random = new Random(7);
        List<MemorySegment> taken = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            long wanted = 1 + random.nextInt(300_000);
            MemorySegment block = blocks.take(wanted);
            assertTrue(block.byteSize() >= wanted && block.byteSize() % PAGE == 0, () -> "size " + block.byteSize());
            assertEquals(0, block.address() % PAGE);
            for (MemorySegment other : taken) {
                assertTrue(block.asOverlappingSlice(other).isEmpty(), "blocks overlap");
            }
            taken.add(block);
        }
    }

    @Test
    void aReturnedBlockComesBackZeroed() {
        MemorySegment first = blocks.take(10_000);
        first.fill((byte) 1);
        blocks.giveBack(first);
        MemorySegment second = blocks.take(10_000);
        assertEquals(first.address(), second.address(), "the block should be used again");
        for (long i = 0; i < second.byteSize(); i++) {
            assertEquals(0, second.get(ValueLayout.JAVA_BYTE, i));
        }
    }

    @Test
    void aLargeBlockIsFreedWhenItIsGivenBackAndNobodyCanReachIt() throws Exception {
        MemorySegment kept = blocks.take((4 << 20) + 1);
        assertEquals((4 << 20) + PAGE, kept.byteSize());
        assertEquals(0, kept.address() % PAGE);
        kept.fill((byte) 1);
        WeakReference<MemorySegment.Scope> inUse = new WeakReference<>(kept.scope());
        WeakReference<MemorySegment.Scope> free = new WeakReference<>(takeLargeAndGiveBack());
        Await.until("a block is freed", () -> {
            System.gc();
            return free.get() == null;
        });
        assertNotNull(inUse.get());
        assertEquals(1, kept.get(ValueLayout.JAVA_BYTE, 4 << 20));
    }

    private MemorySegment.Scope takeLargeAndGiveBack() {
        MemorySegment block = blocks.take(4 << 20);
        blocks.giveBack(block);
        return block.scope();
    }

    @Test
    void aBlockInUseIsNotGivenOutAgain() {
        assertNotEquals(blocks.take(PAGE).address(), blocks.take(PAGE).address());
    }
}
