package org.rdmasockets.internal.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The numbers of inboxes. */
class InboxTableTest {
    private final InboxTable table = new InboxTable();

    @Test
    void findsEachInboxByAllItsRequests() throws Exception {
        try (Fixture f = Fixture.parking()) {
            List<CompletionInbox> inboxes = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                inboxes.add(f.poller.openInbox(f.device, ConnectionRole.ACTIVE, new TestClient(), 1));
            }
            CompletionShard shard = inboxes.getFirst().shard();
            for (CompletionInbox inbox : inboxes) {
                assertSame(shard, inbox.shard());
                CompletionInbox copy = new CompletionInbox(shard, new TestClient(), table.claim(), 1);
                table.put(copy);
                assertEquals(inbox.workRequestIdBase(), copy.workRequestIdBase(), "numbered alike");
                assertSame(copy, table.find(copy.workRequestIdBase()));
                assertSame(copy, table.find(copy.workRequestIdBase() | 0xFF_FFFF));
            }
            assertEquals(100, table.all().size());
        }
    }

    @Test
    void generationChangesWithEachUseAndIsNeverZero() {
        long first = table.claim();
        long last = first;
        for (int i = 0; i < 70_000; i++) {
            table.release(last);
            long next = table.claim();
            assertNotEquals(last, next);
            assertNotEquals(0, next);
            assertEquals(first << 16, next << 16, "the same index");
            last = next;
        }
    }

    @Test
    void strangeIdentifiersFindNothing() {
        assertNull(table.find(0));
        assertNull(table.find(-1));
        assertNull(table.find(Long.MAX_VALUE));
    }

    @Test
    void oldestFreeIndexIsUsedFirst() {
        long a = table.claim();
        long b = table.claim();
        table.release(b);
        table.release(a);
        assertEquals(b << 16, table.claim() << 16);
        assertEquals(a << 16, table.claim() << 16);
    }
}
