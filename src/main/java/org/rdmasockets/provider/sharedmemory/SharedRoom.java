package org.rdmasockets.provider.sharedmemory;

/** The room of a shared receive queue, as completions of one of its queue pairs see it. */
final class SharedRoom extends QueueRoom {
    private final QueueRoom shared;

    /**
     * A view of the room.
     *
     * @param queuePairNumber whose completions they are
     * @param shared where room was taken
     */
    SharedRoom(int queuePairNumber, QueueRoom shared) {
        super(queuePairNumber);
        this.shared = shared;
    }

    @Override
    void giveBack() {
        shared.giveBackFromAnywhere();
    }

    @Override
    void untake() {
        giveBack();
    }
}
