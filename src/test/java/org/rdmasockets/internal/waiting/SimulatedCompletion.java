package org.rdmasockets.internal.waiting;

import org.rdmasockets.verbs.CompletionOpcode;

/**
 * One completion in a simulated queue.
 *
 * @param workRequestId of the request
 * @param status 0 is success
 * @param opcode the kind of the request that ended
 * @param immediate for receives
 */
record SimulatedCompletion(long workRequestId, int status, CompletionOpcode opcode, int immediate) {
    static SimulatedCompletion receive(long workRequestId, int immediate) {
        return new SimulatedCompletion(workRequestId, 0, CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE, immediate);
    }

    static SimulatedCompletion send(long workRequestId) {
        return new SimulatedCompletion(workRequestId, 0, CompletionOpcode.WRITE, 0);
    }
}
