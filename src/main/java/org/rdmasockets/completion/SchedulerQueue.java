package org.rdmasockets.completion;

import java.lang.management.ManagementFactory;
import jdk.management.VirtualThreadSchedulerMXBean;

/** How many virtual threads are ready to run but have no carrier. Lives where jdk.management does; it is optional. */
final class SchedulerQueue {
    private final VirtualThreadSchedulerMXBean scheduler;

    private SchedulerQueue(VirtualThreadSchedulerMXBean scheduler) {
        this.scheduler = scheduler;
    }

    /** The queue of this JVM's scheduler, or null when the JVM does not tell. */
    static SchedulerQueue find() {
        try {
            VirtualThreadSchedulerMXBean bean =
                    ManagementFactory.getPlatformMXBean(VirtualThreadSchedulerMXBean.class);
            return bean == null || bean.getQueuedVirtualThreadCount() < 0 ? null : new SchedulerQueue(bean);
        } catch (LinkageError | RuntimeException e) {
            return null;
        }
    }

    /** True when no virtual thread waits for a carrier. Takes some ten nanoseconds, allocates nothing. */
    boolean isEmpty() {
        return scheduler.getQueuedVirtualThreadCount() == 0;
    }
}
