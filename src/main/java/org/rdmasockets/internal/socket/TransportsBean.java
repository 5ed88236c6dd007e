package org.rdmasockets.internal.socket;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.rdmasockets.Transport;
import org.rdmasockets.TransportCounters;
import org.rdmasockets.TransportsMXBean;
import org.rdmasockets.internal.connection.Property;
import org.rdmasockets.internal.connection.TransportStatistics;
import org.rdmasockets.internal.lock.StackRoom;
import org.rdmasockets.internal.log.Log;

/** The management bean. To register it loads hundreds of classes, so that is done only where it is asked for. */
public final class TransportsBean implements TransportsMXBean {
    /** All that there may be, as operators know them. */
    private static final Transport[] TRANSPORTS = {Transport.SHARED_MEMORY, Transport.IBVERBS, Transport.TCP};
    private static final Log LOG = new Log(TransportsBean.class);
    /** More copies of the library in one process have no bean. */
    private static final int MOST_COPIES = 64;
    /** The bean was registered, or refused; changed under the class. */
    private static boolean registered;
    /** The bean is wanted as soon as there is a socket. */
    private static volatile boolean asked = Property.flag("mxbean");

    /** A socket is made: registers the bean if the property says so. After an Error a later socket tries again. */
    static void registerIfAsked() {
        if (asked) {
            asked = false; // first: what follows may make sockets
            boolean done = false;
            try {
                register();
                done = true;
            } finally {
                asked = !done;
            }
        }
    }

    /** Registers the bean with the platform's MBean server, once; a failure is a line of the log. */
    public static synchronized void register() {
        StackRoom.ensure(); // for the locks of the JDK's MBean server, too
        if (!registered) {
            if (hasManagement()) {
                Management.register();
            }
            registered = true;
        }
    }

    /** Whether this JVM has the module that the rest needs. */
    private static boolean hasManagement() {
        return ModuleLayer.boot().findModule("java.management").isPresent();
    }

    @Override
    public Map<String, TransportCounters> getTransports() {
        Map<String, TransportCounters> all = new TreeMap<>();
        for (Transport transport : TRANSPORTS) {
            all.put(transport.name(), TransportCounters.of(transport));
        }
        return all;
    }

    private static long sum(ToLongFunction<TransportStatistics> number) {
        long sum = 0;
        for (Transport transport : TRANSPORTS) {
            sum += number.applyAsLong(TransportStatistics.of(transport.name()));
        }
        return sum;
    }

    @Override
    public long getOpen() {
        return sum(TransportStatistics::open);
    }

    @Override
    public long getRegisteredBytes() {
        return sum(TransportStatistics::registeredBytes);
    }

    @Override
    public long getPinnedBytes() {
        return TransportStatistics.of(Transport.IBVERBS.name()).registeredBytes();
    }

    @Override
    public long getQueuePairs() {
        return sum(TransportStatistics::queuePairs);
    }

    @Override
    public long getFallbacks() {
        return TransportCounters.fallbacks();
    }

    @Override
    public long getRescues() {
        return TransportCounters.rescues();
    }

    @Override
    public long getLostDatagrams() {
        return TransportCounters.lostDatagrams();
    }

    @Override
    public long getLostPackets() {
        return TransportCounters.lostPackets();
    }

    @Override
    public Map<String, Long> getPollerCpuNanos() {
        Map<String, Long> all = new TreeMap<>();
        for (Transport transport : TRANSPORTS) {
            long thread = TransportStatistics.of(transport.name()).pollerThread();
            long nanos = thread == 0 || !hasManagement() ? -1 : Management.cpuNanos(thread);
            if (nanos >= 0) {
                all.put(transport.name(), nanos);
            }
        }
        return all;
    }

    /** The part that needs module {@code java.management}. */
    private static final class Management {
        private Management() {}

        static void register() {
            try {
                MBeanServer server = ManagementFactory.getPlatformMBeanServer();
                TransportsBean bean = new TransportsBean();
                for (int copy = 1; copy <= MOST_COPIES; copy++) {
                    if (tryRegister(server, bean, copy == 1 ? NAME : NAME + ",copy=" + copy)) {
                        return;
                    }
                }
                LOG.warn("{} copies of this library have registered {}; this one does not", MOST_COPIES, NAME);
            } catch (JMException | RuntimeException | LinkageError e) {
                LOG.warn("{} is not registered with the platform's MBean server: {}", NAME, e);
            }
        }

        private static boolean tryRegister(MBeanServer server, TransportsBean bean, String name) throws JMException {
            try {
                server.registerMBean(bean, new ObjectName(name));
                return true;
            } catch (InstanceAlreadyExistsException e) {
                return false;
            }
        }

        static long cpuNanos(long thread) {
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            return threads.isThreadCpuTimeSupported() && threads.isThreadCpuTimeEnabled()
                    ? threads.getThreadCpuTime(thread) : -1;
        }
    }
}
