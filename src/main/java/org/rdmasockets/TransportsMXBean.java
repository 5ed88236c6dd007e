package org.rdmasockets;

import java.util.Map;

/**
 * The connections of this process, for operators: a management bean with the name {@value #NAME}.
 * {@link RdmaSockets#registerMXBean()} registers it with the platform's MBean server, or, with
 * {@code -Dorg.rdmasockets.mxbean=true}, the first socket that is made; where module {@code java.management} is missing
 * there is none. A second copy of the library in the process, such as the agent's beside the program's own, has a
 * further key, {@code copy=2}.
 *
 * <p>All numbers are those of {@link TransportCounters}, as they are when they are asked for.
 *
 * @since 0.1
 */
public interface TransportsMXBean {
    /** The name of the bean. */
    String NAME = "org.rdmasockets:type=Transports";

    /** {@return the counters of each transport, by its name: {@code sharedmemory}, {@code ibverbs} and {@code tcp}} */
    Map<String, TransportCounters> getTransports();

    /** {@return connections that there are now, over all transports} */
    long getOpen();

    /** {@return memory that is registered now, over all transports, in bytes} */
    long getRegisteredBytes();

    /** {@return memory that is registered with devices, and so pinned, in bytes} */
    long getPinnedBytes();

    /** {@return queue pairs that there are now, over all transports} */
    long getQueuePairs();

    /** {@return connections that went over TCP in {@code auto}, where another transport would have come first} */
    long getFallbacks();

    /** {@return how often a timer found what a wake-up should have told: faults of this library} */
    long getRescues();

    /** {@return datagrams that were dropped for lack of room} */
    long getLostDatagrams();

    /** {@return packets of sessions that were sent again} */
    long getLostPackets();

    /**
     * The load of the pollers.
     *
     * @return the processor time that the poller's thread of each transport has taken so far, in nanoseconds; a
     *         transport that is not in use, or whose time the JVM does not tell, is left out
     */
    Map<String, Long> getPollerCpuNanos();
}
