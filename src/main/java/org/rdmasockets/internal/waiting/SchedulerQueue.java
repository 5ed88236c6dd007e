package org.rdmasockets.internal.waiting;

import java.lang.management.ManagementFactory;
import java.util.function.IntSupplier;
import jdk.management.VirtualThreadSchedulerMXBean;

/** How many virtual threads are ready to run but have no carrier. Lives where jdk.management does; it is optional. */
final class SchedulerQueue implements IntSupplier {
    private final VirtualThreadSchedulerMXBean scheduler;

    private SchedulerQueue(VirtualThreadSchedulerMXBean scheduler) {
        this.scheduler = scheduler;
    }

    /** The queue of this JVM's scheduler, or null when the JVM does not tell. */
    static SchedulerQueue find() {
        try {
            VirtualThreadSchedulerMXBean bean = ManagementFactory.getPlatformMXBean(VirtualThreadSchedulerMXBean.class);
            return bean == null || bean.getQueuedVirtualThreadCount() < 0 ? null : new SchedulerQueue(bean);
        } catch (LinkageError | RuntimeException e) {
            return null;
        }
    }

    /** How many virtual threads wait for a carrier. Takes some ten nanoseconds, allocates nothing. */
    @Override
    public int getAsInt() {
        return (int) Math.min(scheduler.getQueuedVirtualThreadCount(), Integer.MAX_VALUE);
    }
}
