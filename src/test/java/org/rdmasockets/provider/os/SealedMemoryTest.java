package org.rdmasockets.provider.os;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** What is mapped and what is refused. */
@Isolated
class SealedMemoryTest {
    private static final long BYTES = 3 * 4096;
    private static final int MFD_HUGETLB = 4;
    private static final long HUGE_BYTES = 2 << 20;
    private static final int ALL = Descriptors.SHRINK | Descriptors.GROW | Descriptors.SEAL;

    @Test
    void nobodyCanChangeTheSizeAndHolesAreZero() throws VerbsException {
        try (SealedMemory memory = SealedMemory.create(BYTES);
                Mapping mapping = SealedMemory.map(memory.descriptor(), BYTES)) {
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
    void aLateAccessMeetsMemoryOfNobodyAndRangesAreUsedAgain() throws VerbsException {
        List<Long> addresses = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            try (SealedMemory memory = SealedMemory.create(BYTES)) {
                Mapping mapping = SealedMemory.map(memory.descriptor(), BYTES);
                MemorySegment late = mapping.memory();
                mapping.close();
                late.fill((byte) 7);
                Mapping again = SealedMemory.map(memory.descriptor(), BYTES);
                assertEquals(0, again.memory().get(JAVA_BYTE, 0), "the late access met shared memory");
                addresses.add(late.address());
                again.close();
            }
        }
        assertTrue(addresses.stream().distinct().count() < 100, "no range was used again");
    }
}
