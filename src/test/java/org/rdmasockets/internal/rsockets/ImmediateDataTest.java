package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** The 32-bit messages and the identifiers of work requests. */
class ImmediateDataTest {
    @Test
    void messagesAreAsC() {
        assertEquals(0x0000000A, ImmediateData.data(10));
        assertEquals(0x1FFFFFFF, ImmediateData.data((1 << 29) - 1));
        assertEquals(0x80000180, ImmediateData.update(384));
        assertEquals(0x80000002, ImmediateData.update(0x50002L));
        assertEquals(0xE0000000, ImmediateData.control(ImmediateData.DISCONNECT));
        assertEquals(0xE0000002, ImmediateData.control(ImmediateData.SHUTDOWN));
    }

    @Test
    void messagesAreTakenApart() {
        assertEquals(7, ImmediateData.operation(0xE0000002));
        assertEquals(2, ImmediateData.argument(0xE0000002));
        assertEquals(4, ImmediateData.operation(0x80018001));
        assertEquals(0x18001, ImmediateData.argument(0x80018001));
        assertEquals(0, ImmediateData.operation(0x1FFFFFFF));
    }

    @Test
    void workRequestsKeepTheConnectionsPart() {
        long base = 0xFEDC_BA98_7600_0000L;
        long id = WorkRequestId.of(base, WorkRequestId.KEEPALIVE, 65533);
        assertEquals(base, id & -1L << WorkRequestId.BITS);
        assertEquals(WorkRequestId.KEEPALIVE, WorkRequestId.kind(id));
        assertEquals(65533, WorkRequestId.index(id));
        assertEquals("keep-alive write", WorkRequestId.name(id));
    }
}
