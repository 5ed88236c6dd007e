package org.rdmasockets.benchmark;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The machine of a measurement, without a name.
 *
 * @param processor model
 * @param processors how many
 * @param virtual whether it is a virtual machine
 * @param memoryGib memory, in GiB
 * @param kernel name and version
 * @param java version
 */
record Machine(String processor, int processors, boolean virtual, long memoryGib, String kernel, String java) {
    static Machine here() throws IOException {
        List<String> cpu = Files.readAllLines(Path.of("/proc/cpuinfo"));
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return new Machine(value(cpu, "model name"), Runtime.getRuntime().availableProcessors(),
                (" " + value(cpu, "flags") + " ").contains(" hypervisor "), system.getTotalMemorySize() >> 30,
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                System.getProperty("java.vendor") + " " + System.getProperty("java.runtime.version"));
    }

    private static String value(List<String> lines, String key) {
        return lines.stream().filter(line -> line.startsWith(key)).findFirst()
                .map(line -> line.substring(line.indexOf(':') + 1).strip()).orElse("unknown");
    }

    @Override
    public String toString() {
        return "%s, %d processors%s, %d GiB, %s, Java of %s".formatted(processor, processors,
                virtual ? " of a virtual machine" : "", memoryGib, kernel, java);
    }
}
