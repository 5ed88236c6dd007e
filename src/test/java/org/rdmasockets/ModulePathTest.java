package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.module.ModuleDescriptor.Requires;
import java.lang.module.ModuleFinder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A user's module compiles and runs with the library's jar and those that it needs, and no others: on the module path,
 * on the class path, and in an image with a Java of its own.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
class ModulePathTest {
    /** The jars that README.md names. */
    private static final List<String> NEEDED = List.of("jctools-core", "jctools-core-jdk11", "slf4j-api");
    private static final List<String> GRPC = List.of("grpc-api", "grpc-stub", "guava", "failureaccess");

    private static final Path JAVA = Path.of(System.getProperty("java.home"), "bin", "java");
    private static final String NATIVE_ACCESS = "--enable-native-access=org.rdmasockets";
    private static final String MAIN = "user/user.Main";

    private static final String SOCKETS_MODULE = """
            module user {
                requires org.rdmasockets;
            }
            """;
    /** Names each exported package but that of gRPC, and sends a byte over a socket. */
    private static final String SOCKETS = """
            package user;

            import java.io.IOException;
            import java.net.ServerSocket;
            import java.net.Socket;
            import org.rdmasockets.RdmaDevices;
            import org.rdmasockets.RdmaServerSocket;
            import org.rdmasockets.RdmaSocket;
            import org.rdmasockets.RdmaSocketOptions;
            import org.rdmasockets.Transport;
            import org.rdmasockets.endpoint.RdmaEndpoint;
            import org.rdmasockets.rpc.RpcClient;
            import org.rdmasockets.verbs.VerbsProvider;

            public final class Main {
                public static void main(String[] arguments) throws IOException {
                    VerbsProvider verbs = RdmaDevices.verbs(Transport.SHARED_MEMORY);
                    RpcClient.Builder calls = RpcClient.builder();
                    var endpoints = RdmaEndpoint.builder();
                    try (ServerSocket server = new RdmaServerSocket(0);
                            Socket client = new RdmaSocket("127.0.0.1", server.getLocalPort());
                            Socket accepted = server.accept()) {
                        client.getOutputStream().write(42);
                        System.out.println("answer " + accepted.getInputStream().read());
                        System.out.println("over " + client.getOption(RdmaSocketOptions.TRANSPORT).name());
                        System.out.println(Main.class.getModule() + ", " + RdmaSocket.class.getModule());
                    }
                }
            }
            """;

    private static final String GRPC_MODULE = """
            module user {
                requires org.rdmasockets;
                requires io.grpc;
                requires io.grpc.stub;
            }
            """;
    /** Serves one method, and calls it. */
    private static final String GRPC_CALL = """
            package user;

            import io.grpc.CallOptions;
            import io.grpc.ManagedChannel;
            import io.grpc.MethodDescriptor;
            import io.grpc.Server;
            import io.grpc.ServerServiceDefinition;
            import io.grpc.stub.ClientCalls;
            import io.grpc.stub.ServerCalls;
            import java.io.ByteArrayInputStream;
            import java.io.IOException;
            import java.io.InputStream;
            import java.io.UncheckedIOException;
            import org.rdmasockets.grpc.RdmaChannelBuilder;
            import org.rdmasockets.grpc.RdmaServerBuilder;

            public final class Main {
                private static final MethodDescriptor.Marshaller<byte[]> BYTES = new MethodDescriptor.Marshaller<>() {
                    @Override
                    public InputStream stream(byte[] value) {
                        return new ByteArrayInputStream(value);
                    }

                    @Override
                    public byte[] parse(InputStream stream) {
                        try {
                            return stream.readAllBytes();
                        } catch (IOException e) {
                            throw new UncheckedIOException(e);
                        }
                    }
                };

                public static void main(String[] arguments) throws Exception {
                    MethodDescriptor<byte[], byte[]> echo = MethodDescriptor.newBuilder(BYTES, BYTES)
                            .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("user.Echo/Echo").build();
                    Server server = RdmaServerBuilder.forPort(0).addService(ServerServiceDefinition.builder("user.Echo")
                            .addMethod(echo, ServerCalls.asyncUnaryCall((byte[] request,
                                    io.grpc.stub.StreamObserver<byte[]> answers) -> {
                                answers.onNext(request);
                                answers.onCompleted();
                            })).build()).build().start();
                    ManagedChannel channel = RdmaChannelBuilder.forAddress("127.0.0.1", server.getPort()).build();
                    byte[] answer = ClientCalls.blockingUnaryCall(channel, echo, CallOptions.DEFAULT, new byte[] {42});
                    System.out.println("answer " + answer[0]);
                    channel.shutdownNow();
                    server.shutdownNow();
                }
            }
            """;

    @TempDir
    private Path folder;

    @Test
    void aModuleOfSocketsNeedsNoGrpc() throws Exception {
        String path = modulePath(NEEDED);
        assertEquals("", compile(path, SOCKETS_MODULE, SOCKETS));
        String all = withUser(path);
        assertRuns("module user, module org.rdmasockets", start(JAVA, NATIVE_ACCESS, "--module-path", all, "-m", MAIN));
        assertRuns("unnamed module @", start(JAVA, "--enable-native-access=ALL-UNNAMED", "-cp", all, "user.Main"));
        // Without any module that the library can do without.
        Path image = folder.resolve("image");
        assertEquals("", tool("jlink", "--module-path", all, "--add-modules", "user", "--output", image.toString()));
        Path java = image.resolve("bin", "java");
        assertRuns("module user, module org.rdmasockets", start(java, NATIVE_ACCESS, "-m", MAIN));
        assertEquals(List.of("java.base", "org.jctools.core", "org.jctools.core.jdk11", "org.rdmasockets", "org.slf4j",
                "user"), start(java, "--list-modules").stream().map(module -> module.replaceAll("@.*", "")).toList());
    }

    private static void assertRuns(String modules, List<String> said) {
        assertTrue(said.containsAll(List.of("answer 42", "over sharedmemory"))
                && said.stream().anyMatch(line -> line.startsWith(modules)), () -> String.join("\n", said));
    }

    private String withUser(String path) {
        return folder.resolve("classes") + File.pathSeparator + path;
    }

    @Test
    void aModuleOfGrpcRequiresIt() throws Exception {
        String path = modulePath(Stream.of(NEEDED, GRPC).flatMap(List::stream).toList());
        assertEquals("", compile(path, GRPC_MODULE, GRPC_CALL));
        // Guava, which the stubs use, names none of the modules that it needs.
        List<String> said = start(JAVA, NATIVE_ACCESS, "--add-modules=ALL-MODULE-PATH", "--module-path",
                withUser(path), "-m", MAIN);
        assertTrue(said.contains("answer 42"), () -> String.join("\n", said));
    }

    /** A dependency that is optional for the library stays optional for a module that requires it. */
    @Test
    void nothingOptionalIsTransitive() throws IOException {
        assertEquals(Set.of(), ModuleFinder.of(library()).find("org.rdmasockets").orElseThrow().descriptor().requires()
                .stream().filter(required -> required.modifiers().containsAll(
                        Set.of(Requires.Modifier.STATIC, Requires.Modifier.TRANSITIVE)))
                .map(Requires::name).collect(Collectors.toSet()));
    }

    /** The library's jar, as users get it. */
    private static Path library() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("target"))) {
            return files.filter(file -> file.getFileName().toString().matches("rdma-sockets-[\\d.]+(-SNAPSHOT)?\\.jar"))
                    .findFirst().orElseThrow(() -> new AssertionError("no jar in target: mvn test-compile makes it"));
        }
    }

    /** The library's jar and one for each of these names. */
    private static String modulePath(List<String> names) throws IOException {
        try (Stream<Path> files = Files.list(Path.of("target", "lib"))) {
            List<Path> jars = files.filter(jar -> names.contains(jar.getFileName().toString().replaceAll("-\\d.*", "")))
                    .toList();
            assertEquals(names.size(), jars.size(), jars::toString);
            return Stream.concat(Stream.of(library()), jars.stream()).map(Path::toString)
                    .collect(Collectors.joining(File.pathSeparator));
        }
    }

    /** The compiler's messages, except those about automatic modules, as gRPC's are. */
    private String compile(String path, String module, String main) throws IOException {
        Path moduleSource = Files.writeString(folder.resolve("module-info.java"), module);
        Path source = Files.writeString(Files.createDirectory(folder.resolve("user")).resolve("Main.java"), main);
        return tool("javac", "-Xlint:all,-requires-automatic", "-Werror", "-d", folder.resolve("classes").toString(),
                "--module-path", path, moduleSource.toString(), source.toString());
    }

    /** The messages of a tool of the JDK. */
    private static String tool(String name, String... arguments) {
        StringWriter said = new StringWriter();
        PrintWriter out = new PrintWriter(said);
        ToolProvider.findFirst(name).orElseThrow().run(out, out, arguments);
        return said.toString();
    }

    private static List<String> start(Path java, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(java.toString()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            List<String> lines = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                    .lines().toList();
            assertEquals(0, process.waitFor(), () -> String.join("\n", lines));
            return lines;
        } finally {
            process.destroyForcibly();
        }
    }
}
