package org.rdmasockets.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;

/**
 * The classes that a starting JVM loads until its first answer over shared memory, beyond those that the JDK's archive
 * has ready: loading them takes most of the time of a first connect, and counting them needs no clock. Linking one
 * signature of C alone is 270 classes, of which 48 are forms of method handles.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StartGuardTest {
    /** Where the library of threads and sockets of the JDK ends: what a plain socket needs is no more. */
    private static final int MOST_PLAIN_CLASSES = 200;
    /** Of these, 18 are a growable queue of JCTools and its parents: the inbox of each connection. */
    private static final int MOST_CLASSES = 566;
    private static final int MOST_FORMS = 46;
    /** On a busy machine the poller's first tick may come before the answer, and loads what it is put off for. */
    private static final int ATTEMPTS = 3;
    private static final Path CLASSES = Path.of(URI.create(RdmaSocket.class.getProtectionDomain().getCodeSource()
            .getLocation().toString()));
    private static final String SOURCE = " source: ";
    private static final String ARCHIVE = "shared objects file";

    @TempDir
    private Path folder;
    private ServerSocket server;

    @BeforeEach
    void serve() throws IOException {
        server = new RdmaServerSocket();
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Thread.ofPlatform().daemon().start(() -> {
            try {
                FirstAnswer.serve(server);
            } catch (SocketException e) {
                return; // closed: the end of the test
            } catch (IOException e) {
                e.printStackTrace();
            }
        });
    }

    @AfterEach
    void close() throws IOException {
        server.close();
    }

    @Test
    void aFirstAnswerLoadsFewClassesAndHardlyAnyForms() throws Exception {
        List<String> fewest = load(FirstAnswer.RDMA);
        for (int attempt = 1; attempt < ATTEMPTS && fewest.size() > MOST_CLASSES; attempt++) {
            List<String> again = load(FirstAnswer.RDMA);
            fewest = again.size() < fewest.size() ? again : fewest;
        }
        long forms = fewest.stream().filter(StartGuardTest::isForm).count();
        assertTrue(fewest.size() <= MOST_CLASSES && forms <= MOST_FORMS, fewest.size() + " classes, at most "
                + MOST_CLASSES + ", and " + forms + " forms, at most " + MOST_FORMS + ": " + fewest);
        assertEquals(List.of(), fewest.stream().filter(StartGuardTest::isUnneeded).toList());
    }

    /** The counting itself. */
    @Test
    void aPlainSocketLoadsNoneOfOurs() throws Exception {
        List<String> loaded = load(FirstAnswer.PLAIN);
        assertTrue(loaded.size() <= MOST_PLAIN_CLASSES, loaded.size() + " classes: " + loaded);
        assertEquals(List.of(),
                loaded.stream().filter(name -> name.startsWith("org.rdmasockets.internal.connection.")).toList());
    }

    private static boolean isForm(String name) {
        return name.startsWith("java.lang.invoke.LambdaForm$") || name.contains("Species_");
    }

    /** Other transports, and what costs far more than it gives here. */
    private static boolean isUnneeded(String name) {
        return Stream.of("org.rdmasockets.internal.ibverbs.generated.", "java.lang.management.", "java.util.regex.",
                "java.security.SecureRandom", "java.util.Formatter", "java.lang.runtime.ObjectMethods",
                "java.lang.invoke.StringConcatFactory", "org.slf4j.").anyMatch(name::startsWith);
    }

    /** The classes beyond the archive that the threads on the path have loaded when a new JVM has its first answer. */
    private List<String> load(String socket) throws Exception {
        Path log = Files.createTempFile(folder, "classes", ".log");
        Process client = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xlog:class+load:file=" + log + ":tid", "--enable-native-access=ALL-UNNAMED",
                "-cp", classPath(), FirstAnswer.class.getName(), socket,
                Integer.toString(server.getLocalPort())).redirectErrorStream(true).start();
        FutureTask<String> output = new FutureTask<>(() -> new String(client.getInputStream().readAllBytes()));
        Thread.ofPlatform().daemon().start(output);
        try {
            assertTrue(client.waitFor(100, TimeUnit.SECONDS), "no answer in 100 s");
            assertEquals(0, client.exitValue(), output.get());
        } finally {
            client.destroyForcibly();
        }
        List<String> lines = Files.readAllLines(log).stream().filter(line -> line.contains(SOURCE)).toList();
        assumeTrue(lines.stream().anyMatch(line -> line.contains(ARCHIVE)), "this JDK has no archive of classes");
        Map<String, List<String>> byThread = new HashMap<>();
        for (String line : lines) {
            if (!line.contains(ARCHIVE)) {
                int end = line.indexOf(']'); // of the thread's number, which may have blanks behind it
                byThread.computeIfAbsent(line.substring(0, end).trim(), first -> new ArrayList<>())
                        .add(line.substring(end + 2, line.indexOf(SOURCE)));
            }
        }
        assertTrue(byThread.values().stream().anyMatch(StartGuardTest::isOnThePath), () -> "no class of ours: " + log);
        return byThread.values().stream().filter(StartGuardTest::isOnThePath).flatMap(List::stream).sorted().toList();
    }

    /** With a jar of the library, as programs have it, and without the tests' SLF4J provider, which is their own. */
    private String classPath() {
        Path jar = folder.resolve("library.jar");
        if (!Files.exists(jar)) {
            assertEquals(0, ToolProvider.findFirst("jar").orElseThrow().run(System.out, System.err, "--create",
                    "--file", jar.toString(), "-C", CLASSES.toString(), "."));
        }
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !entry.contains("slf4j-simple"))
                .map(entry -> Path.of(entry).toAbsolutePath().equals(CLASSES) ? jar.toString() : entry)
                .collect(Collectors.joining(File.pathSeparator));
    }

    /** Whether a thread that loaded these runs our code: that of the log only looks for SLF4J, sooner or later. */
    private static boolean isOnThePath(List<String> loaded) {
        return loaded.stream().anyMatch(name -> name.startsWith("org.rdmasockets."));
    }
}
