package org.rdmasockets.verbs;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.Set;

/**
 * What {@link QueuePair#modify} shall change ({@code struct ibv_qp_attr} with its mask): only what was set is touched.
 * A builder for one use at a time; not for use by two threads at once.
 */
public final class QueuePairAttributes {
    /** A number that can be changed ({@code enum ibv_qp_attr_mask}). */
    public enum Field {
        /** Physical port, from 1 ({@code IBV_QP_PORT}). */
        PORT,
        /** Index of the partition key ({@code IBV_QP_PKEY_INDEX}). */
        PARTITION_KEY_INDEX,
        /** Path MTU in bytes: 256, 512, 1024, 2048 or 4096 ({@code IBV_QP_PATH_MTU}). */
        PATH_MTU_BYTES,
        /** The peer's queue pair number, 24 bits ({@code IBV_QP_DEST_QPN}). */
        DESTINATION_NUMBER,
        /** First packet number to expect, 24 bits ({@code IBV_QP_RQ_PSN}). */
        RECEIVE_PACKET_NUMBER,
        /** First packet number to send, 24 bits ({@code IBV_QP_SQ_PSN}). */
        SEND_PACKET_NUMBER,
        /** Reads and atomics served at once ({@code IBV_QP_MAX_DEST_RD_ATOMIC}). */
        MAX_READS_AS_TARGET,
        /** Reads and atomics outstanding ({@code IBV_QP_MAX_QP_RD_ATOMIC}). */
        MAX_READS_AS_INITIATOR,
        /**
         * How long the peer shall wait when we have no receive posted: code 0 to 31 of the InfiniBand specification,
         * 9.7.5.2.8; 1 is 0.01 ms, 12 is 0.64 ms, 0 is 655.36 ms ({@code IBV_QP_MIN_RNR_TIMER}).
         */
        RECEIVER_NOT_READY_TIMER,
        /** Acknowledge timeout: 4.096 us times 2 to this power, 0 for ever ({@code IBV_QP_TIMEOUT}). */
        ACKNOWLEDGE_TIMEOUT,
        /** Retries without an answer, 0 to 7 ({@code IBV_QP_RETRY_CNT}); soft-RoCE takes 7 as for ever. */
        RETRY_COUNT,
        /** Retries while the peer has no receive, 0 to 6, 7 for ever ({@code IBV_QP_RNR_RETRY}). */
        RECEIVER_NOT_READY_RETRY_COUNT
    }

    /**
     * Where the peer is ({@code struct ibv_ah_attr}).
     *
     * @param destination the peer's GID; all zero for a path inside an InfiniBand subnet
     * @param sourceGidIndex which of the port's GIDs is the source
     * @param hopLimit routers passed at most, 1 to 255
     * @param trafficClass traffic class byte
     * @param destinationLid the peer's local identifier, 0 on Ethernet
     * @param serviceLevel service level, 0 to 15
     */
    public record Path(Gid destination, int sourceGidIndex, int hopLimit, int trafficClass, int destinationLid,
            int serviceLevel) {
    }

    private final Map<Field, Integer> numbers = new EnumMap<>(Field.class);
    private QueuePairState state;
    private Set<AccessFlag> access;
    private Path path;

    /** Attributes with nothing set. */
    public QueuePairAttributes() {
    }

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
     * @param field which
     * @param value its value, in the field's unit
     * @return this
     */
    public QueuePairAttributes set(Field field, int value) {
        numbers.put(field, value);
        return this;
    }

    /**
     * The state to move to.
     *
     * @return the state, or null if it shall stay
     */
    public QueuePairState state() {
        return state;
    }

    /**
     * What a peer may do.
     *
     * @return the flags, or null if they shall stay
     */
    public Set<AccessFlag> access() {
        return access;
    }

    /**
     * Where the peer is.
     *
     * @return the path, or null if it shall stay
     */
    public Path path() {
        return path;
    }

    /**
     * A number to change.
     *
     * @param field which
     * @return its value, or empty if it shall stay
     */
    public OptionalInt get(Field field) {
        Integer value = numbers.get(field);
        return value == null ? OptionalInt.empty() : OptionalInt.of(value);
    }

    @Override
    public String toString() {
        return "state=" + state + ", access=" + access + ", path=" + path + ", " + numbers;
    }
}
