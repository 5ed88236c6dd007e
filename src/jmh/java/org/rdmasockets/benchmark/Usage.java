package org.rdmasockets.benchmark;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/**
 * What processes have used since they began.
 *
 * @param allocatedBytes heap memory that was allocated, by all threads (virtual ones allocate as their carriers)
 * @param processorNanos time of all processors, in user and in kernel mode
 * @param compilerNanos what the compilers had of that
 */
record Usage(long allocatedBytes, long processorNanos, long compilerNanos) {
    /** Nothing. */
    static final Usage NONE = new Usage(0, 0, 0);

    /** Of this process. */
    static Usage now() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return new Usage(threads.getTotalThreadAllocatedBytes(), system.getProcessCpuTime(),
                Compilers.processorNanos());
    }

    /** Both together. */
    Usage plus(Usage other) {
        return new Usage(allocatedBytes + other.allocatedBytes, processorNanos + other.processorNanos,
                compilerNanos + other.compilerNanos);
    }

    /** What was used since. */
    Usage since(Usage earlier) {
        return new Usage(allocatedBytes - earlier.allocatedBytes, processorNanos - earlier.processorNanos,
                compilerNanos - earlier.compilerNanos);
    }
}
