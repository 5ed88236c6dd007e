package org.rdmasockets.benchmark;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/**
 * The resources that processes have used since they began.
 *
 * @param allocatedBytes heap memory that was allocated, by all threads (virtual ones allocate as their carriers)
 * @param processorNanos time of all processors, in user and in kernel mode
 */
record Usage(long allocatedBytes, long processorNanos) {
    /** Nothing. */
    static final Usage NONE = new Usage(0, 0);

    /** Of this process. */
    static Usage now() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return new Usage(threads.getTotalThreadAllocatedBytes(), system.getProcessCpuTime());
    }

    /** Both together. */
    Usage plus(Usage other) {
        return new Usage(allocatedBytes + other.allocatedBytes, processorNanos + other.processorNanos);
    }

    /** The usage since an earlier one. */
    Usage since(Usage earlier) {
        return new Usage(allocatedBytes - earlier.allocatedBytes, processorNanos - earlier.processorNanos);
    }
}
