package org.rdmasockets.verbs;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.rdmasockets.verbs.QueuePairAttributes.Field;
import org.rdmasockets.verbs.QueuePairAttributes.Path;

/**
 * Connects a reliable queue pair without a connection manager, in two phases: {@link #prepare} it, tell the peer
 * {@link #local}, and {@link #connect} to the peer's endpoint. Needs {@link Capability#MANUAL_CONNECT}.
 *
 * <p>Receives may be posted once it is prepared. No event tells when the peer has connected as well, or has gone: a
 * request that is sent too early is sent again for a while, and then fails.
 *
 * <p>The defaults: the smaller MTU of both ports; 16 reads at once or what both can; without an answer in 67 ms the
 * device sends again, 6 times; without a receive it waits for 82 ms, 6 times. Used by one thread at a time.
 *
 * @since 0.1
 */
public final class ManualConnection {
    private static final int MOST_READS = 16;
    private static final int RETRIES = 6;
    private static final Duration ACKNOWLEDGE_TIMEOUT = Duration.ofMillis(67);
    private static final Duration NOT_READY_TIMER = Duration.ofMillis(80);

    private static final Set<Field> TO_RECEIVE = EnumSet.of(Field.PATH_MTU_BYTES, Field.MAX_READS_AS_TARGET,
            Field.RECEIVER_NOT_READY_TIMER);
    private static final Set<Field> TO_SEND = EnumSet.of(Field.ACKNOWLEDGE_TIMEOUT, Field.RETRY_COUNT,
            Field.RECEIVER_NOT_READY_RETRY_COUNT, Field.MAX_READS_AS_INITIATOR);

    private final QueuePair queuePair;
    private final GidEntry entry;
    private final boolean ethernet;
    private final QueuePairEndpoint local;

    private ManualConnection(QueuePair queuePair, GidEntry entry) throws VerbsException {
        this.queuePair = queuePair;
        this.entry = entry;
        Device device = device();
        PortAttributes port = device.port(entry.portNumber());
        ethernet = port.linkLayer() == PortAttributes.LinkLayer.ETHERNET;
        local = new QueuePairEndpoint(queuePair.number(), ThreadLocalRandom.current().nextInt(1 << 24), entry.gid(),
                port.lid(), port.activeMtuBytes(), Math.min(MOST_READS, device.attributes().maxReadsAsTarget()));
    }

    private Device device() {
        return queuePair.config().sendQueue().device();
    }

    /**
     * Makes a queue pair ready for receives to be posted, by the port and GID that {@link GidChoice} prefers.
     *
     * @param queuePair a queue pair in state {@link QueuePairState#RESET}
     * @param access the peer's rights
     * @return the connection in the making
     * @throws VerbsException if no port is active, or the device refuses
     */
    public static ManualConnection prepare(QueuePair queuePair, Set<AccessFlag> access) throws VerbsException {
        return prepare(queuePair, access, GidChoice.of(queuePair.config().sendQueue().device()));
    }

    /**
     * Makes a queue pair ready for receives to be posted.
     *
     * @param queuePair a queue pair in state {@link QueuePairState#RESET}
     * @param access the peer's rights
     * @param entry the port and GID to use, which have to reach the peer's
     * @return the connection in the making
     * @throws VerbsException if the device refuses
     */
    public static ManualConnection prepare(QueuePair queuePair, Set<AccessFlag> access, GidEntry entry)
            throws VerbsException {
        ManualConnection made = new ManualConnection(queuePair, Objects.requireNonNull(entry));
        queuePair.modify(new QueuePairAttributes().state(QueuePairState.INIT).set(Field.PORT, entry.portNumber())
                .set(Field.PARTITION_KEY_INDEX, 0).access(access));
        return made;
    }

    /** {@return the endpoint of this side, which the peer has to know} */
    public QueuePairEndpoint local() {
        return local;
    }

    /**
     * Connects.
     *
     * @param remote the peer's endpoint
     * @throws VerbsException if the device refuses
     */
    public void connect(QueuePairEndpoint remote) throws VerbsException {
        connect(remote, new QueuePairAttributes());
    }

    /**
     * Connects with values that differ from the defaults.
     *
     * @param remote the peer's endpoint
     * @param tuning a path, MTU, timers, retry counts and numbers of reads, as far as they shall differ
     * @throws VerbsException if the device refuses
     * @throws IllegalArgumentException if another attribute is set
     */
    public void connect(QueuePairEndpoint remote, QueuePairAttributes tuning) throws VerbsException {
        check(tuning);
        QueuePairAttributes toReceive = new QueuePairAttributes().state(QueuePairState.READY_TO_RECEIVE)
                .path(tuning.path() == null ? path(remote) : tuning.path())
                .set(Field.DESTINATION_NUMBER, remote.number())
                .set(Field.RECEIVE_PACKET_NUMBER, remote.packetNumber())
                .set(Field.PATH_MTU_BYTES, Math.min(local.mtuBytes(), remote.mtuBytes()))
                .set(Field.MAX_READS_AS_TARGET, local.readsServed()).receiverNotReadyTimer(NOT_READY_TIMER);
        int reads = Math.min(Math.min(MOST_READS, device().attributes().maxReadsAsInitiator()), remote.readsServed());
        QueuePairAttributes toSend = new QueuePairAttributes().state(QueuePairState.READY_TO_SEND)
                .set(Field.SEND_PACKET_NUMBER, local.packetNumber()).acknowledgeTimeout(ACKNOWLEDGE_TIMEOUT)
                .set(Field.RETRY_COUNT, RETRIES).set(Field.RECEIVER_NOT_READY_RETRY_COUNT, RETRIES)
                .set(Field.MAX_READS_AS_INITIATOR, reads);
        queuePair.modify(overridden(toReceive, tuning, TO_RECEIVE));
        queuePair.modify(overridden(toSend, tuning, TO_SEND));
    }

    /** On Ethernet the GID is the address; within an InfiniBand subnet the LID is enough. */
    private Path path(QueuePairEndpoint remote) {
        if (ethernet || remote.lid() == 0) {
            return new Path(remote.gid(), entry.index());
        }
        return new Path(new Gid(new byte[Gid.LENGTH_BYTES]), entry.index(), 1, 0, remote.lid(), 0);
    }

    private static void check(QueuePairAttributes tuning) {
        for (Field field : Field.values()) {
            if (tuning.get(field).isPresent() && !TO_RECEIVE.contains(field) && !TO_SEND.contains(field)) {
                throw new IllegalArgumentException(field + " is not for the caller to choose");
            }
        }
        if (tuning.state() != null || tuning.access() != null) {
            throw new IllegalArgumentException("state and access are not for the caller to choose: " + tuning);
        }
    }

    private static QueuePairAttributes overridden(QueuePairAttributes usual, QueuePairAttributes tuning,
            Set<Field> fields) {
        for (Field field : fields) {
            tuning.get(field).ifPresent(wanted -> usual.set(field, wanted));
        }
        return usual;
    }
}
