package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.verbs.VerbsException;

/** Where devices are, by a file tree as the kernel makes it, and who stays there. */
class ProcessorListTest {
    private static final int WAIT_SECONDS = 30;

    @TempDir
    private Path root;

    @BeforeEach
    void makeTree() throws IOException {
        write("class/infiniband/mlx5_0/device/numa_node", "0");
        write("class/infiniband/mlx5_1/device/numa_node", "1");
        write("class/infiniband/mlx5_2/device/numa_node", "-1");
        write("class/infiniband/mlx5_3/device/numa_node", "2");
        write("class/infiniband/mlx5_4/device/numa_node", "3");
        write("class/infiniband/mlx5_5/device/numa_node", "4");
        write("class/infiniband/rxe0/node_type", "1: CA");
        write("devices/system/node/node0/cpulist", "0-7,16-23");
        write("devices/system/node/node1/cpulist", "8-15,24");
        write("devices/system/node/node2/cpulist", "");
        write("devices/system/node/node3/cpulist", "0-x");
    }

    private void write(String path, String text) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
    }

    private String near(String... devices) throws VerbsException {
        return ProcessorList.near(Set.of(devices), root).toString();
    }

    private void assertNotNear(String reason, String... devices) {
        VerbsException refusal = assertThrows(VerbsException.class, () -> near(devices));
        assertTrue(refusal.getMessage().contains(reason), refusal::getMessage);
    }

    @Test
    void aDeviceIsNearTheProcessorsOfItsNode() throws VerbsException {
        assertEquals("0-7,16-23", near("mlx5_0"));
        assertEquals("8-15,24", near("mlx5_1"));
    }

    @Test
    void severalDevicesAreNearTheProcessorsOfAllTheirNodes() throws VerbsException {
        assertEquals("0-24", near("mlx5_0", "mlx5_1"));
        assertEquals("8-15,24", near("rxe0", "mlx5_1", "mlx5_2"));
    }

    @Test
    void whoIsOnNoNodeIsNamedWithTheReason() {
        assertNotNear("rxe0: it is on no bus", "rxe0");
        assertNotNear("mlx5_2: the machine has only one NUMA node", "mlx5_2", "rxe0");
        assertNotNear("mlx5_3: its NUMA node 2 has no processors", "mlx5_3");
        assertNotNear("mlx5_4: no list of processors: 0-x", "mlx5_4");
        assertNotNear("mlx5_5: ", "mlx5_5");
        assertNotNear("devices=[]");
    }

    @Test
    void listsAreReadAndWrittenAsTheKernelDoes() {
        for (String text : new String[] {"", "0", "0-1", "3,5,7-9", "63-64", "0-127,256-383"}) {
            assertEquals(text, ProcessorList.parse(text + "\n").toString());
        }
        assertEquals("0-3", ProcessorList.parse("0-1,2,3").toString());
        for (String text : new String[] {"-1", "1-", "2-1", "a", "1,,2", "0-99999999", "1;2"}) {
            assertThrows(IllegalArgumentException.class, () -> ProcessorList.parse(text), text);
        }
    }

    /** The processors that the kernel allows the calling thread. */
    private static ProcessorList allowed() throws IOException {
        return Files.readAllLines(Path.of("/proc/thread-self/status")).stream()
                .filter(line -> line.startsWith("Cpus_allowed_list:"))
                .map(line -> ProcessorList.parse(line.substring(line.indexOf(':') + 1).strip())).findFirst()
                .orElseThrow();
    }

    @Test
    void aThreadStaysWhereItIsToldAndOthersDoNot() throws Exception {
        Optional<String> missing = NativeLibraries.problem();
        missing.ifPresent(reason -> System.out.println("ProcessorListTest skips: " + reason));
        Assumptions.assumeTrue(missing.isEmpty(), () -> missing.orElseThrow());
        ProcessorList before = allowed();
        int last = before.numbers().length() - 1;
        write("devices/system/node/node0/cpulist", last + ",60000");
        FutureTask<String> kept = new FutureTask<>(() -> {
            ProcessorList.near(Set.of("mlx5_0"), root).keepThisThread();
            return allowed().toString();
        });
        Thread.ofPlatform().start(kept);
        assertEquals("" + last, kept.get(WAIT_SECONDS, TimeUnit.SECONDS));
        assertEquals(before, allowed());
        ProcessorList absent = ProcessorList.parse("60000");
        VerbsException refusal = assertThrows(VerbsException.class, absent::keepThisThread);
        assertTrue(refusal.getMessage().contains("may use none of these processors"), refusal::getMessage);
        assertEquals(before, allowed());
    }
}
