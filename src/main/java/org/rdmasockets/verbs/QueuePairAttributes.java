package org.rdmasockets.verbs;

import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The attributes that {@link QueuePair#modify} changes, or that {@link QueuePair#query} found
 * ({@code struct ibv_qp_attr} with its mask): only those that were set are touched. A builder for one use at a time;
 * not for use by two threads at once.
 *
 * @since 0.1
 */
public final class QueuePairAttributes {
    /** A {@link Field#RECEIVER_NOT_READY_RETRY_COUNT} without end: a peer that posts no receive hangs this side. */
    public static final int RETRY_FOR_EVER = 7;

    /**
     * A number that can be changed ({@code enum ibv_qp_attr_mask}).
     *
     * @since 0.1
     */
    public enum Field {
        /** Physical port, from 1 ({@code IBV_QP_PORT}). */
        PORT(1, 255),
        /** Index of the partition key ({@code IBV_QP_PKEY_INDEX}). */
        PARTITION_KEY_INDEX(0, 65_535),
        /** Path MTU in bytes: 256, 512, 1024, 2048 or 4096 ({@code IBV_QP_PATH_MTU}). */
        PATH_MTU_BYTES(256, 4096),
        /** The peer's queue pair number, 24 bits ({@code IBV_QP_DEST_QPN}). */
        DESTINATION_NUMBER(0, 0xffffff),
        /** First packet number to expect, 24 bits ({@code IBV_QP_RQ_PSN}). */
        RECEIVE_PACKET_NUMBER(0, 0xffffff),
        /** First packet number to send, 24 bits ({@code IBV_QP_SQ_PSN}). */
        SEND_PACKET_NUMBER(0, 0xffffff),
        /** Reads and atomics served at once ({@code IBV_QP_MAX_DEST_RD_ATOMIC}). */
        MAX_READS_AS_TARGET(0, 255),
        /** Reads and atomics outstanding ({@code IBV_QP_MAX_QP_RD_ATOMIC}). */
        MAX_READS_AS_INITIATOR(0, 255),
        /**
         * How long the peer shall wait when we have no receive posted: code of {@link ReceiverNotReadyTimer}
         * ({@code IBV_QP_MIN_RNR_TIMER}).
         */
        RECEIVER_NOT_READY_TIMER(0, 31),
        /** How long to wait for an acknowledgement: code of {@link AcknowledgeTimeout} ({@code IBV_QP_TIMEOUT}). */
        ACKNOWLEDGE_TIMEOUT(0, 31),
        /** Retries without an answer, 0 to 7 ({@code IBV_QP_RETRY_CNT}); soft-RoCE takes 7 as for ever. */
        RETRY_COUNT(0, 7),
        /**
         * Retries while the peer has no receive, 0 to 6, or {@link QueuePairAttributes#RETRY_FOR_EVER}
         * ({@code IBV_QP_RNR_RETRY}).
         */
        RECEIVER_NOT_READY_RETRY_COUNT(0, RETRY_FOR_EVER),
        /**
         * The key that a datagram must carry to be taken, any 32 bits; one with the highest bit set is for privileged
         * programs ({@code IBV_QP_QKEY}).
         */
        QUEUE_KEY(Integer.MIN_VALUE, Integer.MAX_VALUE);

        private final int least;
        private final int most;

        Field(int least, int most) {
            this.least = least;
            this.most = most;
        }

        /** Refuses a value that is out of range, by name, value and range. */
        void check(int value) {
            if (this == PATH_MTU_BYTES && Integer.bitCount(value) != 1) {
                throw new IllegalArgumentException(this + " is 256, 512, 1024, 2048 or 4096, not " + value);
            }
            QueuePairAttributes.check(name(), value, least, most);
        }
    }

    /**
     * Where the peer is ({@code struct ibv_ah_attr}).
     *
     * @param destination the peer's GID; all zero for a path inside an InfiniBand subnet
     * @param sourceGidIndex the index of the source in the port's GIDs
     * @param hopLimit routers passed at most, 0 to 255; more than 1 if there are any
     * @param trafficClass traffic class byte, 0 to 255: differentiated services and congestion notification on RoCEv2
     * @param destinationLid the peer's local identifier, 0 to 65,535; 0 on Ethernet
     * @param serviceLevel service level, 0 to 15
     * @param flowLabel the label of packets that belong together, 20 bits; on RoCEv2 it chooses the UDP source port
     * @since 0.1
     */
    public record Path(Gid destination, int sourceGidIndex, int hopLimit, int trafficClass, int destinationLid,
            int serviceLevel, int flowLabel) {
        /**
         * Checks the ranges.
         *
         * @throws IllegalArgumentException if a number is out of its range
         */
        public Path {
            Objects.requireNonNull(destination);
            check("sourceGidIndex", sourceGidIndex, 0, 255);
            check("hopLimit", hopLimit, 0, 255);
            check("trafficClass", trafficClass, 0, 255);
            check("destinationLid", destinationLid, 0, 65_535);
            check("serviceLevel", serviceLevel, 0, 15);
            check("flowLabel", flowLabel, 0, 0xfffff);
        }

        /**
         * A path with flow label 0.
         *
         * @param destination the peer's GID; all zero for a path inside an InfiniBand subnet
         * @param sourceGidIndex the index of the source in the port's GIDs
         * @param hopLimit routers passed at most
         * @param trafficClass traffic class byte
         * @param destinationLid the peer's local identifier
         * @param serviceLevel service level
         * @throws IllegalArgumentException if a number is out of its range
         */
        public Path(Gid destination, int sourceGidIndex, int hopLimit, int trafficClass, int destinationLid,
                int serviceLevel) {
            this(destination, sourceGidIndex, hopLimit, trafficClass, destinationLid, serviceLevel, 0);
        }

        /**
         * A path to a GID, as RoCE has it, with up to 64 routers between.
         *
         * @param destination the peer's GID
         * @param sourceGidIndex the index of the source in the port's GIDs
         * @throws IllegalArgumentException if the index is out of its range
         */
        public Path(Gid destination, int sourceGidIndex) {
            this(destination, sourceGidIndex, 64, 0, 0, 0, 0);
        }
    }

    private final Map<Field, Integer> numbers = new EnumMap<>(Field.class);
    private QueuePairState state;
    private Set<AccessFlag> access;
    private Path path;

    /** Attributes with nothing set. */
    public QueuePairAttributes() {}

    /**
     * Sets the state to move to ({@code IBV_QP_STATE}).
     *
     * @param newState the state
     * @return this
     */
    public QueuePairAttributes state(QueuePairState newState) {
        state = Objects.requireNonNull(newState);
        return this;
    }

    /**
     * Sets what a peer may do through this queue pair ({@code IBV_QP_ACCESS_FLAGS}).
     *
     * @param newAccess the flags
     * @return this
     */
    public QueuePairAttributes access(Set<AccessFlag> newAccess) {
        access = Set.copyOf(newAccess);
        return this;
    }

    /**
     * Sets where the peer is ({@code IBV_QP_AV}).
     *
     * @param newPath the path
     * @return this
     */
    public QueuePairAttributes path(Path newPath) {
        path = Objects.requireNonNull(newPath);
        return this;
    }

    /**
     * Sets a number.
     *
     * @param field the number's name
     * @param value its value, in the field's unit
     * @return this
     * @throws IllegalArgumentException if the value is out of the field's range
     */
    public QueuePairAttributes set(Field field, int value) {
        field.check(value);
        numbers.put(field, value);
        return this;
    }

    /**
     * Sets how long to wait for an acknowledgement, rounded up to {@link AcknowledgeTimeout}.
     *
     * @param least the time to wait at least; {@link java.time.temporal.ChronoUnit#FOREVER} never ends
     * @return this
     * @throws IllegalArgumentException if there is no such timeout
     */
    public QueuePairAttributes acknowledgeTimeout(Duration least) {
        return set(Field.ACKNOWLEDGE_TIMEOUT, AcknowledgeTimeout.atLeast(least).code());
    }

    /**
     * Sets how long the peer shall wait when we have no receive, rounded up to {@link ReceiverNotReadyTimer}.
     *
     * @param least the time to wait at least
     * @return this
     * @throws IllegalArgumentException if there is no such timer
     */
    public QueuePairAttributes receiverNotReadyTimer(Duration least) {
        return set(Field.RECEIVER_NOT_READY_TIMER, ReceiverNotReadyTimer.atLeast(least).code());
    }

    /** Refuses a value that is out of range, by name, value and range. */
    private static void check(String name, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(name + " is " + least + " to " + most + ", not " + value);
        }
    }

    /** {@return the state to move to, or null if it shall stay} */
    public QueuePairState state() {
        return state;
    }

    /** {@return the flags of what a peer may do, or null if they shall stay} */
    public Set<AccessFlag> access() {
        return access;
    }

    /** {@return where the peer is, or null if the path shall stay} */
    public Path path() {
        return path;
    }

    /**
     * A number to change.
     *
     * @param field the number's name
     * @return its value, or empty if it shall stay
     */
    public OptionalInt get(Field field) {
        Integer value = numbers.get(field);
        return value == null ? OptionalInt.empty() : OptionalInt.of(value);
    }

    /** {@return how long to wait for an acknowledgement, or empty if it shall stay} */
    public Optional<Duration> acknowledgeTimeout() {
        Integer code = numbers.get(Field.ACKNOWLEDGE_TIMEOUT);
        return Optional.ofNullable(code).map(c -> new AcknowledgeTimeout(c).duration());
    }

    /** {@return how long the peer shall wait when we have no receive, or empty if it shall stay} */
    public Optional<Duration> receiverNotReadyTimer() {
        Integer code = numbers.get(Field.RECEIVER_NOT_READY_TIMER);
        return Optional.ofNullable(code).map(c -> new ReceiverNotReadyTimer(c).duration());
    }

    @Override
    public String toString() {
        return "state=" + state + ", access=" + access + ", path=" + path + ", " + numbers;
    }
}
