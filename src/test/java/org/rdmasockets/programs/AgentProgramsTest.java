package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Proxy;
import java.net.URI;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.Program;

/**
 * Programs of others, both ends under the agent: they print what they print over TCP, and their connections go over the
 * transport.
 */
@Execution(ExecutionMode.CONCURRENT)
class AgentProgramsTest {
    private static final Path PROGRAMS = Path.of("target", "programs");
    private static final Path SOURCES = Path.of("src/test/resources/org/rdmasockets/programs");
    private static final String PORT = "> port ";

    @TempDir
    private Path directory;

    /** Where the programs meet. */
    Place place() {
        return Place.here().orSkip();
    }

    /** One run of some programs. */
    private interface Scenario {
        /**
         * Runs them.
         *
         * @param options of each JVM
         * @param log takes what each printed
         * @return the lines that have to be the same
         */
        List<String> run(List<String> options, List<String> log) throws Exception;
    }

    private void assertTheSameAsOverTcp(int programs, Scenario scenario) throws Exception {
        List<String> log = new ArrayList<>();
        List<String> expected = scenario.run(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"), log);
        assertFalse(expected.isEmpty(), log::toString);
        log.clear();
        String agent = "-javaagent:" + Place.agent();
        assertEquals(expected, scenario.run(place().options(agent), log), () -> String.join("\n", log));
        assertEquals(programs, log.size());
        for (String each : log) {
            assertTrue(tellsTheTransport(each), each);
            // ActiveMQ warns of the disk
            assertFalse(each.contains("SLF4J(W)") || each.lines().anyMatch(line -> line.contains("WARN")
                    && !line.contains("org.apache.activemq")), each);
        }
    }

    private boolean tellsTheTransport(String output) {
        String transport = place().transport().name();
        return output.contains("connected over " + transport) || output.contains("accepted over " + transport);
    }

    /** Takes what each has printed; under the agent, once the log's thread has told of the transport. */
    private void keep(List<String> options, List<String> log, Program... programs) throws Exception {
        for (Program each : programs) {
            if (options.toString().contains("-javaagent")) {
                Await.until("the transport in the log", () -> tellsTheTransport(each.output()), each::output);
            }
            log.add(each.output());
        }
    }

    private static List<String> said(Program program) {
        return program.output().lines().filter(line -> line.startsWith("> ") && !line.startsWith(PORT)).toList();
    }

    private static Program plain(List<String> options, String... arguments) throws IOException {
        List<String> all = new ArrayList<>(options);
        String libraries;
        try (Stream<Path> files = Files.list(Path.of("target", "lib"))) {
            libraries = files.filter(file -> file.getFileName().toString().matches("(jgroups|slf4j)-.*"))
                    .map(Path::toString).collect(Collectors.joining(":"));
        }
        all.addAll(List.of("-cp", "target/test-classes:" + libraries, "org.rdmasockets.programs.PlainPrograms"));
        return Program.start(Place.java(all, arguments));
    }

    @Test
    void remoteMethodsAndTheirCallbacks() throws Exception {
        String host = place().host();
        assertTheSameAsOverTcp(2, (options, log) -> {
            try (Program server = plain(options, "rmi-server", host);
                    Program client = plain(options, "rmi-client", host, server.awaitLine(PORT))) {
                client.awaitSuccess();
                keep(options, log, server, client);
                return said(client);
            }
        });
    }

    /** The JVM's own server begins before main. */
    @Test
    void managementFromAnotherJvm() throws Exception {
        Place place = place();
        assertTheSameAsOverTcp(2, (options, log) -> {
            String port = place.freePorts(1).getFirst();
            String prefix = "-Dcom.sun.management.jmxremote.";
            List<String> watched = new ArrayList<>(options);
            watched.addAll(List.of(prefix + "port=" + port, prefix + "rmi.port=" + port,
                    prefix + "authenticate=false", prefix + "ssl=false", prefix + "host=" + place.host(),
                    "-Djava.rmi.server.hostname=" + place.host()));
            try (Program server = plain(watched, "jmx-server")) {
                server.awaitLine("> ready");
                try (Program client = plain(options, "jmx-client", place.host(), port)) {
                    client.awaitSuccess();
                    keep(options, log, server, client);
                    return said(client);
                }
            }
        });
    }

    @Test
    void aClusterOfJGroups() throws Exception {
        Place place = place();
        assertTheSameAsOverTcp(2, (options, log) -> {
            List<String> ports = place.freePorts(2);
            try (Program first = plain(options, "member", "a", place.host(), ports.get(0), ports.get(1))) {
                first.awaitLine("> joined");
                try (Program second = plain(options, "member", "b", place.host(), ports.get(1), ports.get(0))) {
                    second.awaitSuccess();
                    first.awaitSuccess();
                    keep(options, log, first, second);
                    return Stream.concat(said(first).stream(), said(second).stream()).toList();
                }
            }
        });
    }

    @Test
    void aBrokerOfActiveMqAndItsClient() throws Exception {
        String host = place().host();
        assertTheSameAsOverTcp(2, (options, log) -> {
            List<String> all = new ArrayList<>(options);
            all.addAll(List.of("-cp", PROGRAMS.resolve("activemq") + "/*", SOURCES.resolve("Broker.java").toString()));
            try (Program broker = Program.start(Place.java(all, host));
                    Program client = Program.start(Place.java(all, host, broker.awaitLine(PORT)))) {
                client.awaitSuccess();
                keep(options, log, broker, client);
                return said(client);
            }
        });
    }

    /**
     * Its logging is Logback, nested in the jar, where nothing of the agent may come before it. It has this library
     * nested as well, by whose options it asks for the transport.
     */
    @Test
    void aSpringBootJarWithClientsOfRedisAndOfADatabase() throws Exception {
        Path jar = executableJar();
        String host = place().host();
        assertTheSameAsOverTcp(3, (options, log) -> {
            List<String> h2 = new ArrayList<>(options);
            h2.addAll(List.of("-Dh2.bindAddress=" + host, "-cp", Place.library("h2") + ":" + Place.library("slf4j-api")
                    + ":" + Place.library("slf4j-simple"), "org.h2.tools.Server"));
            try (Program redis = plain(options, "redis", host);
                    Program database = Program.start(Place.java(h2, "-tcp", "-tcpAllowOthers", "-tcpPort", "0",
                            "-ifNotExists"))) {
                String url = "jdbc:h2:tcp://" + host + ":"
                        + database.awaitLine("TCP server running at ").replaceFirst("^.*:(\\d+).*$", "$1") + "/mem:x";
                List<String> boot = new ArrayList<>(options);
                boot.addAll(List.of("-Dh2.socketConnectTimeout=60000", "-jar", jar.toString()));
                try (Program application = Program.start(Place.java(boot, "--server.port=0",
                        "--server.address=127.0.0.1", "--spring.main.banner-mode=off", "--redis.host=" + host,
                        "--redis.port=" + redis.awaitLine(PORT), "--h2.url=" + url))) {
                    String where = "http://127.0.0.1:" + application.awaitLine(PORT) + "/work?rounds=";
                    assertEquals(options.toString().contains("-javaagent") ? place().transport().name() : "plain",
                            application.awaitLine("> transport "));
                    List<String> answers = List.of(get(where + 1), get(where + 40), get(where + 3));
                    keep(options, log, application, redis, database);
                    application.awaitText("works for 40 rounds");
                    return answers;
                }
            }
        });
    }

    private static String get(String url) throws IOException {
        URLConnection connection = URI.create(url).toURL().openConnection(Proxy.NO_PROXY);
        connection.setReadTimeout(90_000);
        try (InputStream body = connection.getInputStream()) {
            return new String(body.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** As the build plugin of Spring Boot makes it: the launcher unpacked, the libraries stored. */
    private Path executableJar() throws IOException {
        Path classes = Files.createDirectories(directory.resolve("classes"));
        List<Path> libraries = new ArrayList<>(list(PROGRAMS.resolve("spring-boot")));
        libraries.add(library());
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, null, "-d", classes.toString(), "-nowarn",
                "-proc:none", "-parameters", "-cp",
                libraries.stream().map(Path::toString).collect(Collectors.joining(":")),
                SOURCES.resolve("BootApplication.java").toString());
        assertEquals(0, status, "the application does not compile");
        Path made = directory.resolve("application.jar");
        Manifest manifest = new Manifest();
        Attributes attributes = manifest.getMainAttributes();
        attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        attributes.put(Attributes.Name.MAIN_CLASS, "org.springframework.boot.loader.launch.JarLauncher");
        attributes.putValue("Start-Class", "demo.BootApplication");
        attributes.putValue("Spring-Boot-Classes", "BOOT-INF/classes/");
        attributes.putValue("Spring-Boot-Lib", "BOOT-INF/lib/");
        try (OutputStream file = Files.newOutputStream(made);
                JarOutputStream jar = new JarOutputStream(file, manifest)) {
            copyLauncher(list(PROGRAMS.resolve("spring-boot-loader")).getFirst(), jar);
            jar.putNextEntry(new ZipEntry("BOOT-INF/"));
            jar.putNextEntry(new ZipEntry("BOOT-INF/classes/"));
            jar.putNextEntry(new ZipEntry("BOOT-INF/classes/demo/"));
            for (Path each : list(classes.resolve("demo"))) {
                jar.putNextEntry(new ZipEntry("BOOT-INF/classes/demo/" + each.getFileName()));
                jar.write(Files.readAllBytes(each));
            }
            jar.putNextEntry(new ZipEntry("BOOT-INF/lib/"));
            for (Path each : libraries) {
                store(each, jar);
            }
        }
        return made;
    }

    /** This project's, as an application has it: without the agent. */
    private Path library() throws IOException {
        Path classes = Path.of("target", "classes");
        Path made = directory.resolve("rdma-sockets.jar");
        try (OutputStream file = Files.newOutputStream(made); JarOutputStream jar = new JarOutputStream(file);
                Stream<Path> files = Files.walk(classes.resolve("org"))) {
            for (Path each : files.filter(Files::isRegularFile).filter(each -> !each.toString().contains("/agent/"))
                    .toList()) {
                jar.putNextEntry(new ZipEntry(classes.relativize(each).toString()));
                jar.write(Files.readAllBytes(each));
            }
        }
        return made;
    }

    private static void copyLauncher(Path loader, JarOutputStream jar) throws IOException {
        try (JarFile source = new JarFile(loader.toFile())) {
            for (var entries = source.stream().filter(each -> each.getName().startsWith("org/")).iterator();
                    entries.hasNext();) {
                var entry = entries.next();
                jar.putNextEntry(new ZipEntry(entry.getName()));
                try (InputStream in = source.getInputStream(entry)) {
                    in.transferTo(jar);
                }
            }
        }
    }

    private static void store(Path library, JarOutputStream jar) throws IOException {
        byte[] bytes = Files.readAllBytes(library);
        CRC32 sum = new CRC32();
        sum.update(bytes);
        ZipEntry entry = new ZipEntry("BOOT-INF/lib/" + library.getFileName());
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(bytes.length);
        entry.setCrc(sum.getValue());
        jar.putNextEntry(entry);
        jar.write(bytes);
    }

    private static List<Path> list(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.sorted().toList();
        }
    }
}
