package org.rdmasockets.internal.ffi;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** Memory that is mapped, and memory that is refused. */
@Isolated
class SealedMemoryTest {
    private static final long BYTES = 3 * 4096;
    private static final int MFD_HUGETLB = 4;
    private static final long HUGE_BYTES = 2 << 20;
    private static final int ALL = Descriptors.SHRINK | Descriptors.GROW | Descriptors.SEAL;

    @Test
    void nobodyCanChangeTheSizeAndHolesAreZero() throws VerbsException {
        try (SealedMemory memory = SealedMemory.create(BYTES);
                SharedMapping mapping = SealedMemory.map(memory.descriptor(), BYTES)) {
            mapping.memory().fill((byte) 1);
            assertEquals(Errno.EPERM.number(), Descriptors.truncate(memory.descriptor(), 0));
            assertEquals(Errno.EPERM.number(), Descriptors.truncate(memory.descriptor(), 2 * BYTES));
            assertEquals(0, Descriptors.punchHole(memory.descriptor(), BYTES));
            for (long i = 0; i < BYTES; i++) {
                assertEquals(0, mapping.memory().get(JAVA_BYTE, i));
            }
            mapping.memory().fill((byte) 2);
        }
    }

    /** Also where pages are larger than what is discarded, or do not begin and end where it does. */
    @Test
    void aDiscardedRangeIsZeroAndTheRestIsKept() throws Exception {
        String told = Files.readAllLines(Path.of("/proc/self/smaps")).stream()
                .filter(line -> line.startsWith("KernelPageSize:")).findFirst().orElseThrow();
        assertEquals(PageSize.BYTES, 1024 * Long.parseLong(told.replaceAll("\\D", "")));
        long bytes = 4 * PageSize.BYTES;
        try (SealedMemory memory = SealedMemory.create(bytes);
                SharedMapping mapping = SealedMemory.map(memory.descriptor(), bytes)) {
            for (long[] range : new long[][] {{0, bytes}, {PageSize.BYTES, 2 * PageSize.BYTES}, {1, bytes - 2},
                {100, 200}, {PageSize.BYTES - 8, 16}, {PageSize.BYTES, PageSize.BYTES + 1}}) {
                mapping.memory().fill((byte) 1);
                assertTrue(mapping.discard(range[0], range[1]));
                for (long i = 0; i < bytes; i++) {
                    boolean inside = i >= range[0] && i < range[0] + range[1];
                    assertEquals(inside ? 0 : 1, mapping.memory().get(JAVA_BYTE, i), Arrays.toString(range));
                }
            }
        }
    }

    @Test
    void memoryWithoutAllSealsIsRefused() throws VerbsException {
        for (int seals : new int[] {0, Descriptors.SHRINK, Descriptors.SHRINK | Descriptors.GROW,
            Descriptors.SHRINK | Descriptors.SEAL, Descriptors.GROW | Descriptors.SEAL}) {
            assertRefused(Descriptors.memory(BYTES, seals), "sealed");
        }
    }

    @Test
    void memoryOfAnotherSizeIsRefused() throws VerbsException {
        assertRefused(Descriptors.memory(BYTES - 4096, ALL), "8192 bytes instead of 12288");
        assertRefused(Descriptors.memory(BYTES + 1, ALL), "12289 bytes");
    }

    @Test
    void whatIsNotMemoryIsRefused() throws VerbsException {
        assertRefused(Descriptors.open("/dev/zero"), "sealed");
        assertRefused(Descriptors.open("/dev/null"), "sealed");
        assertRefused((int) Posix.EVENTFD.check("", 0, 0), "sealed");
    }

    @Test
    void memoryThatCannotBeWrittenIsRefused() throws VerbsException {
        assertRefused(Descriptors.memory(BYTES, ALL | Descriptors.WRITE), "against writing");
        assertRefused(Descriptors.memory(BYTES, ALL | Descriptors.FUTURE_WRITE), "against writing");
    }

    @Test
    void hugePagesWhichCanRunOutAreRefused() throws VerbsException {
        int descriptor;
        try {
            descriptor = Descriptors.memory(HUGE_BYTES, MFD_HUGETLB, ALL);
        } catch (VerbsException e) {
            System.out.println("Not tried, this kernel has no huge pages: " + e.getMessage());
            return;
        }
        VerbsException refusal = assertThrows(VerbsException.class, () -> SealedMemory.map(descriptor, HUGE_BYTES));
        assertTrue(refusal.getMessage().contains("ordinary"), refusal.getMessage());
        Descriptors.close(descriptor);
    }

    private static void assertRefused(int descriptor, String reason) {
        VerbsException refusal = assertThrows(VerbsException.class, () -> SealedMemory.map(descriptor, BYTES));
        assertEquals(Errno.EPROTO, refusal.errno());
        assertTrue(refusal.getMessage().contains(reason), refusal.getMessage());
        Descriptors.close(descriptor);
    }

    @Test
    void aLateAccessMeetsMemoryOfNobodyAndRangesAreGivenBack() throws VerbsException {
        int before = Mappings.count();
        try (SealedMemory memory = SealedMemory.create(BYTES)) {
            for (int i = 0; i < 10_000; i++) {
                SharedMapping mapping = SealedMemory.map(memory.descriptor(), BYTES);
                MemorySegment late = mapping.memory();
                mapping.close();
                late.fill((byte) 7);
                SharedMapping again = SealedMemory.map(memory.descriptor(), BYTES);
                assertEquals(0, again.memory().get(JAVA_BYTE, 0), "the late access met shared memory");
                again.close();
            }
        }
        assertTrue(Mappings.count() - before <= 256, () -> Mappings.count() + " mappings after " + before);
    }

    @Test
    void hugeRangesAreGivenBackAtOnce() throws VerbsException {
        long bytes = 1L << 42;
        int before = Mappings.count();
        try (SealedMemory memory = SealedMemory.create(bytes)) {
            for (int i = 0; i < 100; i++) { // more than there are addresses
                SealedMemory.map(memory.descriptor(), bytes).close();
            }
        }
        // The last one is held back.
        assertTrue(Mappings.count() <= Math.max(1, before), () -> Mappings.count() + " mappings after " + before);
    }

    @Test
    void noMappingIsMadeThatTheJvmCouldLack() throws Exception {
        int most = Mappings.most();
        assertTrue(most > 1000, () -> "vm.max_map_count is " + most);
        if (most > 1 << 20) {
            System.out.println("Not tried, this system allows " + most + " mappings");
            return;
        }
        List<SharedMapping> mappings = new ArrayList<>();
        try (SealedMemory memory = SealedMemory.create(BYTES)) {
            VerbsException refusal = assertThrows(VerbsException.class, () -> {
                for (int i = 0; i < most; i++) {
                    mappings.add(SealedMemory.map(memory.descriptor(), BYTES));
                }
            });
            assertEquals(Errno.ENOMEM, refusal.errno());
            assertTrue(refusal.getMessage().contains("raise the sysctl vm.max_map_count"), refusal.getMessage());
            long all = Files.readAllLines(Path.of("/proc/self/maps")).size();
            assertTrue(all < most - most / 16, () -> all + " mappings of " + most);
            assertTrue(all > most / 2, () -> all + " mappings of " + most);
        } finally {
            mappings.forEach(SharedMapping::close);
        }
        try (SealedMemory memory = SealedMemory.create(BYTES)) {
            SealedMemory.map(memory.descriptor(), BYTES).close();
        }
    }
}
