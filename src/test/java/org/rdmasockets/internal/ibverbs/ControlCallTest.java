package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** Functions that the installed library does not have. */
class ControlCallTest {
    private final ControlCall missing = new ControlCall("ibv_of_a_later_library", null);

    @Test
    void aFunctionOfALaterLibraryIsRefusedWithARemedy() {
        for (VerbsException e : new VerbsException[] {
            assertThrows(VerbsException.class, () -> missing.check("port=1", 1)),
            assertThrows(VerbsException.class, () -> missing.pointer("port=1", 1))}) {
            assertEquals(Errno.ENOSYS, e.errno());
            assertTrue(e.getMessage().startsWith("ibv_of_a_later_library failed: ENOSYS (38): port=1"), e.getMessage());
            assertTrue(e.remedy().contains("newer rdma-core"), e.remedy());
        }
    }
}
