package org.rdmasockets.internal.waiting;

import java.util.ArrayList;
import java.util.List;

/** A client that notes what it is given; a role is ready when as much has arrived as the test said. */
final class TestClient implements CompletionClient {
    /** All guarded by the inbox's protocol lock, except while only the test's thread is there. */
    private final List<Object> applied = new ArrayList<>();
    int readerNeeds = 1;
    int writerNeeds = 1;
    boolean creditOwed;
    Runnable backlog = () -> { };

    @Override
    public void apply(Completion completion) {
        applied.add(completion.token() != null ? completion.token() : completion.workRequestId() & 0xFF_FFFF);
    }

    @Override
    public boolean ready(Role role) {
        return applied.size() >= (role == Role.READER ? readerNeeds : writerNeeds)
                || applied.stream().anyMatch(Throwable.class::isInstance);
    }

    @Override
    public boolean beforeExit() {
        return creditOwed;
    }

    @Override
    public void onBacklog() {
        backlog.run();
    }

    /** The completions applied: tokens, and the client's bits of work request identifiers. */
    List<Object> applied(CompletionInbox inbox) {
        inbox.enter();
        try {
            return List.copyOf(applied);
        } finally {
            inbox.exit();
        }
    }
}
