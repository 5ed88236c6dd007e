package org.rdmasockets.verbs;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * An open RDMA device ({@code struct ibv_context}); as an {@link EventSource} it reports asynchronous events.
 * It is shared by all of the process and lives as long as the process: {@code close()} only says that this user is
 * done with it.
 *
 * @since 0.1
 */
public interface Device extends EventSource, AutoCloseable {
    /** {@return name, GUID and transport, as known before opening} */
    DeviceInfo info();

    /** {@return the limits of this device, read once when it was opened} */
    DeviceAttributes attributes();

    /**
     * Tells whether the device can do something.
     *
     * @param capability the capability asked for
     * @return true if it can
     */
    boolean supports(Capability capability);

    /**
     * Asks for the state of a port ({@code ibv_query_port}).
     *
     * @param portNumber 1 to {@link DeviceAttributes#ports()}
     * @return the state now
     * @throws VerbsException if there is no such port
     */
    PortAttributes port(int portNumber) throws VerbsException;

    /**
     * Reads an entry of a port's GID table ({@code ibv_query_gid}).
     *
     * @param portNumber 1 to {@link DeviceAttributes#ports()}
     * @param index 0 to {@link PortAttributes#gidTableLength()} - 1
     * @return the entry, all zero if unused
     * @throws VerbsException if there is no such port or entry
     */
    Gid gid(int portNumber, int index) throws VerbsException;

    /**
     * Reads the entries of a port's GID table that are in use ({@code ibv_query_gid_table}). {@link GidChoice} knows
     * which to take.
     *
     * @param portNumber 1 to {@link DeviceAttributes#ports()}
     * @return the entries in the order of their indexes
     * @throws VerbsException if there is no such port
     */
    default List<GidEntry> gidTable(int portNumber) throws VerbsException {
        List<GidEntry> entries = new ArrayList<>();
        for (int i = 0; i < port(portNumber).gidTableLength(); i++) {
            Gid gid = gid(portNumber, i);
            if (!gid.isZero()) {
                entries.add(new GidEntry(portNumber, i, gid, GidEntry.Type.UNKNOWN, 0));
            }
        }
        return entries;
    }

    /**
     * Allocates a protection domain ({@code ibv_alloc_pd}). Keys are checked against it: memory registered in one
     * domain cannot be reached through a queue pair of another.
     *
     * @return a new domain
     * @throws VerbsException if the device has no more
     */
    ProtectionDomain allocateProtectionDomain() throws VerbsException;

    /**
     * Makes a completion channel ({@code ibv_create_comp_channel}), which tells when armed completion queues have news.
     *
     * @return a new channel
     * @throws VerbsException if no descriptor can be had
     */
    CompletionChannel createCompletionChannel() throws VerbsException;

    /**
     * Makes a completion queue ({@code ibv_create_cq}). <em>May block</em>.
     *
     * @param entries at least this many entries, 1 to {@link DeviceAttributes#maxCompletionQueueEntries()}
     * @param channel the channel that its events go to, or null for a queue that is only polled
     * @return a new completion queue
     * @throws VerbsException if the device refuses
     */
    CompletionQueue createCompletionQueue(int entries, CompletionChannel channel) throws VerbsException;

    /**
     * Takes all asynchronous events that are there ({@code ibv_get_async_event}, {@code ibv_ack_async_event}) without
     * waiting.
     *
     * @param handler called in this thread for each event
     * @throws VerbsException if reading failed
     */
    void drainEvents(Consumer<? super DeviceEvent> handler) throws VerbsException;

    /** Says that this user is done with the device; the process keeps it open. */
    @Override
    void close();
}
