package org.rdmasockets.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairAttributes.Path;

/** Ranges, and the two timers that have a table of their own. */
class QueuePairAttributesTest {
    private static final Gid GID = new Gid(new byte[Gid.LENGTH_BYTES]);

    @ParameterizedTest
    @CsvSource({"PORT, 1, 255", "PARTITION_KEY_INDEX, 0, 65535", "PATH_MTU_BYTES, 256, 4096",
        "DESTINATION_NUMBER, 0, 16777215", "RECEIVE_PACKET_NUMBER, 0, 16777215", "SEND_PACKET_NUMBER, 0, 16777215",
        "MAX_READS_AS_TARGET, 0, 255", "MAX_READS_AS_INITIATOR, 0, 255", "RECEIVER_NOT_READY_TIMER, 0, 31",
        "ACKNOWLEDGE_TIMEOUT, 0, 31", "RETRY_COUNT, 0, 7", "RECEIVER_NOT_READY_RETRY_COUNT, 0, 7"})
    void aNumberOutsideItsRangeIsRefusedByNameValueAndRange(Field field, int least, int most) {
        QueuePairAttributes attributes = new QueuePairAttributes().set(field, least);
        assertEquals(OptionalInt.of(least), attributes.get(field));
        assertEquals(OptionalInt.of(most), attributes.set(field, most).get(field));
        for (int wrong : new int[] {least - 1, most + 1, Integer.MAX_VALUE}) {
            String text = assertThrows(IllegalArgumentException.class, () -> attributes.set(field, wrong))
                    .getMessage();
            assertEquals(0, text.indexOf(field + " is " + least), text);
            assertEquals(text.length(), text.indexOf(", not " + wrong) + (", not " + wrong).length(), text);
        }
        assertEquals(OptionalInt.of(most), attributes.get(field), "what was refused changes nothing");
    }

    @Test
    void aPathMtuBetweenThePowersOfTwoIsRefused() {
        QueuePairAttributes attributes = new QueuePairAttributes();
        assertThrows(IllegalArgumentException.class, () -> attributes.set(Field.PATH_MTU_BYTES, 1500));
        for (int bytes = 256; bytes <= 4096; bytes *= 2) {
            assertEquals(OptionalInt.of(bytes), attributes.set(Field.PATH_MTU_BYTES, bytes)
                    .get(Field.PATH_MTU_BYTES));
        }
    }

    @Test
    void aPathChecksItsRanges() {
        assertThrows(IllegalArgumentException.class, () -> new Path(GID, 256, 1, 0, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> new Path(GID, -1));
        assertThrows(IllegalArgumentException.class, () -> new Path(GID, 0, 256, 0, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> new Path(GID, 0, 1, 256, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> new Path(GID, 0, 1, 0, 65_536, 0));
        assertThrows(IllegalArgumentException.class, () -> new Path(GID, 0, 1, 0, 0, 16));
        assertThrows(IllegalArgumentException.class, () -> new Path(GID, 0, 1, 0, 0, 0, 1 << 20));
        assertEquals(new Path(GID, 255, 64, 0, 0, 0, 0), new Path(GID, 255));
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "8192, 1", "8193, 2", "16384, 2", "65536, 4", "67108864, 14", "1073741824, 18",
        "1073741825, 19", "8796093022208, 31"})
    void anAcknowledgeTimeoutIsTheShortestThatIsLongEnough(long nanos, int code) {
        AcknowledgeTimeout timeout = AcknowledgeTimeout.atLeast(Duration.ofNanos(nanos));
        assertEquals(code, timeout.code());
        assertEquals(Duration.ofNanos(4096L << code), timeout.duration());
    }

    @Test
    void anAcknowledgeTimeoutThatCannotBeIsRefused() {
        for (Duration wrong : new Duration[] {Duration.ZERO, Duration.ofNanos(-1), Duration.ofNanos(8796093022209L),
            Duration.ofDays(400L * 365)}) {
            assertThrows(IllegalArgumentException.class, () -> AcknowledgeTimeout.atLeast(wrong), wrong::toString);
        }
        assertThrows(IllegalArgumentException.class, () -> new AcknowledgeTimeout(32));
    }

    @Test
    void waitingForEverIsCodeZero() {
        Duration forEver = ChronoUnit.FOREVER.getDuration();
        QueuePairAttributes attributes = new QueuePairAttributes();
        assertEquals(Optional.empty(), attributes.acknowledgeTimeout());
        attributes.acknowledgeTimeout(forEver);
        assertEquals(OptionalInt.of(0), attributes.get(Field.ACKNOWLEDGE_TIMEOUT));
        assertEquals(Optional.of(forEver), attributes.acknowledgeTimeout());
        assertEquals(Optional.of(Duration.ofNanos(8192)), attributes.acknowledgeTimeout(Duration.ofNanos(5000))
                .acknowledgeTimeout());
    }

    /** Hundredths of a millisecond to codes, as the InfiniBand specification has them (9.7.5.2.8). */
    @ParameterizedTest
    @CsvSource({"1, 1", "2, 2", "3, 3", "4, 4", "6, 5", "8, 6", "12, 7", "16, 8", "24, 9", "32, 10", "48, 11", "64, 12",
        "96, 13", "128, 14", "192, 15", "256, 16", "384, 17", "512, 18", "768, 19", "1024, 20", "1536, 21", "2048, 22",
        "3072, 23", "4096, 24", "6144, 25", "8192, 26", "12288, 27", "16384, 28", "24576, 29", "32768, 30",
        "49152, 31", "65536, 0"})
    void aReceiverNotReadyTimerIsTheShortestThatIsLongEnough(int hundredths, int code) {
        Duration time = Duration.ofNanos(10_000L * hundredths);
        assertEquals(time, new ReceiverNotReadyTimer(code).duration());
        assertEquals(code, ReceiverNotReadyTimer.atLeast(time).code());
        assertEquals(code, ReceiverNotReadyTimer.atLeast(time.minusNanos(1)).code());
        assertEquals(Optional.of(time), new QueuePairAttributes().receiverNotReadyTimer(time)
                .receiverNotReadyTimer());
    }

    @Test
    void aReceiverNotReadyTimerThatCannotBeIsRefused() {
        for (Duration wrong : new Duration[] {Duration.ZERO, Duration.ofNanos(-1), Duration.ofNanos(655_360_001)}) {
            assertThrows(IllegalArgumentException.class, () -> ReceiverNotReadyTimer.atLeast(wrong));
        }
        assertThrows(IllegalArgumentException.class, () -> new ReceiverNotReadyTimer(-1));
    }
}
