package org.rdmasockets.internal.waiting;

import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.WorkCompletions;

/** A batch of completions made of plain Java. */
final class SimulatedBatch implements WorkCompletions {
    private final SimulatedCompletion[] completions;

    SimulatedBatch(int capacity) {
        completions = new SimulatedCompletion[capacity];
    }

    void set(int index, SimulatedCompletion completion) {
        completions[index] = completion;
    }

    @Override
    public int capacity() {
        return completions.length;
    }

    @Override
    public long workRequestId(int index) {
        return completions[index].workRequestId();
    }

    @Override
    public int status(int index) {
        return completions[index].status();
    }

    @Override
    public CompletionOpcode opcode(int index) {
        return completions[index].opcode();
    }

    @Override
    public int lengthBytes(int index) {
        return 0;
    }

    @Override
    public boolean hasImmediate(int index) {
        return opcode(index).isReceive();
    }

    @Override
    public int immediate(int index) {
        return completions[index].immediate();
    }

    @Override
    public int queuePairNumber(int index) {
        return 1;
    }

    @Override
    public int vendorError(int index) {
        return 0;
    }
}
