package org.rdmasockets.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Every error number of Linux has its name, and those that a person can mend have a remedy. */
class ErrnoTest {
    private static final int LAST = 133;
    /** Numbers that Linux has left out. */
    private static final Set<Integer> NONE = Set.of(41, 58);

    @Test
    void everyNumberOfLinuxHasAName() {
        Set<Errno> seen = new HashSet<>();
        for (int number = 0; number <= LAST; number++) {
            Errno errno = Errno.of(number);
            assertEquals(NONE.contains(number), errno == Errno.UNKNOWN, errno + " for " + number);
            assertTrue(errno == Errno.UNKNOWN || seen.add(errno) && errno.number() == number, errno::toString);
            assertEquals(errno, Errno.of(-number));
        }
        assertEquals(Errno.values().length, seen.size() + 1);
        assertEquals(Errno.UNKNOWN, Errno.of(LAST + 1));
    }

    @Test
    void namesAreThoseOfErrnoH() {
        assertEquals(Errno.EFBIG, Errno.of(27));
        assertEquals(Errno.EDEADLK, Errno.of(35));
        assertEquals(Errno.EMSGSIZE, Errno.of(90));
        assertEquals(Errno.EOPNOTSUPP, Errno.of(95));
        assertEquals(Errno.EDQUOT, Errno.of(122));
        assertEquals(Errno.EHWPOISON, Errno.of(133));
    }

    @Test
    void limitsOfTheProcessNameTheSettingThatRaisesThem() {
        assertTrue(Errno.EMFILE.remedy().contains("ulimit -n"), Errno.EMFILE::remedy);
        assertTrue(Errno.ENFILE.remedy().contains("fs.file-max"), Errno.ENFILE::remedy);
        assertTrue(Errno.EFBIG.remedy().contains("ulimit -f"), Errno.EFBIG::remedy);
        assertEquals("", Errno.OK.remedy());
        for (Errno errno : Errno.values()) {
            assertTrue(!errno.remedy().endsWith("."), errno::remedy);
            assertNotEquals(null, errno.errorClass());
        }
    }
}
