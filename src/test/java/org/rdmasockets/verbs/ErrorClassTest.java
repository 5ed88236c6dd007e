package org.rdmasockets.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Failures have a class, a hint and the vendor's code. */
class ErrorClassTest {
    @Test
    void everyStatusHasAClassAndAllButSuccessAHint() {
        for (WorkCompletionStatus status : WorkCompletionStatus.values()) {
            boolean success = status == WorkCompletionStatus.SUCCESS;
            assertEquals(success, status.errorClass() == ErrorClass.NONE, status::toString);
            assertEquals(success, status.hint().isEmpty(), status::toString);
        }
    }

    @Test
    void theClassSaysWhoseFaultItIs() {
        assertEquals(ErrorClass.LOCAL_PROGRAMMING, WorkCompletionStatus.LOCAL_PROTECTION_ERROR.errorClass());
        assertEquals(ErrorClass.REMOTE, WorkCompletionStatus.REMOTE_ACCESS_ERROR.errorClass());
        assertEquals(ErrorClass.TRANSPORT, WorkCompletionStatus.FLUSHED.errorClass());
        assertEquals(ErrorClass.TIMEOUT, WorkCompletionStatus.RETRY_EXCEEDED.errorClass());
        assertEquals(ErrorClass.FATAL, WorkCompletionStatus.FATAL_ERROR.errorClass());
        assertEquals(ErrorClass.UNKNOWN, WorkCompletionStatus.GENERAL_ERROR.errorClass());
        assertEquals(ErrorClass.LOCAL_RESOURCE, new VerbsException("ibv_reg_mr", Errno.ENOMEM, "").errorClass());
        assertEquals(ErrorClass.UNKNOWN, new VerbsException("ibv_reg_mr", 12_345, "", "").errorClass());
    }

    @Test
    void everyClassIsUsed() {
        Set<ErrorClass> used = EnumSet.noneOf(ErrorClass.class);
        for (WorkCompletionStatus status : WorkCompletionStatus.values()) {
            used.add(status.errorClass());
        }
        for (Errno errno : Errno.values()) {
            used.add(errno.errorClass());
        }
        assertEquals(EnumSet.allOf(ErrorClass.class), used);
    }

    @Test
    void theMessageHasStatusVendorCodeAndHint() {
        WorkCompletionException e = new WorkCompletionException("write of 64 bytes", 10, 0x88);
        assertEquals("write of 64 bytes failed: REMOTE_ACCESS_ERROR (10), vendor code 0x88; "
                + WorkCompletionStatus.REMOTE_ACCESS_ERROR.hint(), e.getMessage());
        assertEquals(ErrorClass.REMOTE, e.errorClass());
        assertEquals(0x88, e.vendorError());
    }

    @Test
    void aNumberWithoutANameIsKept() {
        WorkCompletionException e = new WorkCompletionException("send", 99, 0);
        assertEquals(WorkCompletionStatus.UNKNOWN, e.status());
        assertEquals(99, e.statusNumber());
        assertFalse(e.getMessage().contains("vendor"), e::getMessage);
    }
}
