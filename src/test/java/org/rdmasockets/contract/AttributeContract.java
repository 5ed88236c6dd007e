package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.QueuePairAttributes;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairState;
import org.rdmasockets.verbs.VerbsException;

/** State and attributes of a connected queue pair: what is remembered and what the device tells. */
abstract class AttributeContract extends VerbsContract {
    @Test
    void theStateIsRememberedFromTheBeginningToTheError() throws VerbsException {
        Pair pair = connect();
        assertEquals(QueuePairState.READY_TO_SEND, pair.active.queuePair.state());
        assertEquals(QueuePairState.READY_TO_SEND, pair.passive.queuePair.state());
        pair.active.queuePair.fail();
        assertEquals(QueuePairState.ERROR, pair.active.queuePair.state());
    }

    @Test
    void aQueuePairThatIsNotConnectedIsRememberedSo() throws VerbsException {
        ConnectionEvents events = new ConnectionEvents();
        End end = closing(new End(Pair.resolve(loop(), acceptor().ask(a -> a.address()), events), events));
        assertEquals(QueuePairState.INIT, end.queuePair.state());
    }

    @Test
    void theDeviceTellsTheAttributesOfAConnection() throws VerbsException {
        needs(Capability.QUERY_STATE);
        Pair pair = connect();
        QueuePairAttributes found = pair.active.queuePair.query();
        assertEquals(QueuePairState.READY_TO_SEND, found.state());
        assertEquals(OptionalInt.of(1), found.get(Field.PORT));
        assertEquals(OptionalInt.of(Pair.PARAMETERS.receiverNotReadyRetryCount()),
                found.get(Field.RECEIVER_NOT_READY_RETRY_COUNT));
    }

    @Test
    void aTimerThatWasSetIsToldAsADuration() throws VerbsException {
        needs(Capability.QUERY_STATE);
        Pair pair = connect();
        pair.active.queuePair.modify(new QueuePairAttributes().receiverNotReadyTimer(Duration.ofMillis(2)));
        assertEquals(Optional.of(Duration.ofNanos(2_560_000)), pair.active.queuePair.query().receiverNotReadyTimer());
        assertEquals(QueuePairState.READY_TO_SEND, pair.active.queuePair.state(), "the state stays");
    }

    @Test
    void aDeviceThatDoesNotTellSaysSo() throws VerbsException {
        assumeFalse(device().supports(Capability.QUERY_STATE), device() + " tells");
        Pair pair = connect();
        refused(Errno.EOPNOTSUPP, "QUERY_STATE", () -> pair.active.queuePair.query());
    }

    @Test
    void aClosedQueuePairTellsNothing() throws VerbsException {
        needs(Capability.QUERY_STATE);
        Pair pair = connect();
        pair.active.queuePair.close();
        refusedAsClosed(() -> pair.active.queuePair.query());
    }
}
