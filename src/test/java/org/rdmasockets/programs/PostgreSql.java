package org.rdmasockets.programs;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.rdmasockets.contract.FreePorts;
import org.rdmasockets.interop.Program;

/** A PostgreSQL of the system's packages, with a database of its own, on a free TCP port of the loopback address. */
final class PostgreSql implements AutoCloseable {
    /** The superuser, without a password. */
    static final String USER = "tester";

    private static final Path VERSIONS = Path.of("/usr/lib/postgresql");
    /** It does not run as root. */
    private static final String ACCOUNT = "postgres";

    private final Path binaries;
    private final Path directory;
    private final int port;
    private final Program server;

    private PostgreSql(Path binaries, Path directory, int port) throws Exception {
        this.binaries = binaries;
        this.directory = directory;
        this.port = port;
        run("initdb", "-D", data(), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").awaitSuccess();
        this.server = run("postgres", "-D", data(), "-F", "-k", "", "-h", "127.0.0.1", "-p", Integer.toString(port),
                "-c", "log_line_prefix=", "-c", "shared_buffers=16MB");
        server.awaitLine("LOG:  database system is ready to accept connections");
    }

    /** Starts it, or skips the test with the reason. */
    static PostgreSql startOrSkip() throws Exception {
        Optional<Path> binaries = binaries();
        if (binaries.isEmpty()) {
            String reason = "no PostgreSQL in " + VERSIONS + ": apt-get install postgresql";
            System.out.println("QueryTest is skipped: " + reason);
            Assumptions.abort(reason);
        }
        Path directory = Files.createTempDirectory("rdma-postgresql");
        if (isRoot()) {
            Files.setOwner(directory,
                    directory.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName(ACCOUNT));
        }
        return new PostgreSql(binaries.get(), directory, FreePorts.next(InetAddress.ofLiteral("127.0.0.1")));
    }

    /** The newest version. */
    private static Optional<Path> binaries() throws IOException {
        if (!Files.isDirectory(VERSIONS)) {
            return Optional.empty();
        }
        try (Stream<Path> versions = Files.list(VERSIONS)) {
            return versions.map(version -> version.resolve("bin"))
                    .filter(bin -> Files.isExecutable(bin.resolve("initdb"))).max(Comparator.naturalOrder());
        }
    }

    private static boolean isRoot() {
        return System.getProperty("user.name").equals("root");
    }

    private String data() {
        return directory.resolve("data").toString();
    }

    private Program run(String program, String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        if (isRoot()) {
            command.addAll(List.of("setpriv", "--reuid=" + ACCOUNT, "--regid=" + ACCOUNT, "--clear-groups"));
        }
        command.add(binaries.resolve(program).toString());
        command.addAll(List.of(arguments));
        return Program.start(command.toArray(String[]::new));
    }

    /** The TCP port that it listens on. */
    int port() {
        return port;
    }

    @Override
    public void close() throws IOException {
        try (server) {
            run("pg_ctl", "stop", "-D", data(), "-m", "immediate").awaitSuccess();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // then it is killed, and its processes find out
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
                Files.delete(file);
            }
        }
    }
}
