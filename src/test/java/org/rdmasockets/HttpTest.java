package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rdmasockets.interop.Program;

/** Programs that know nothing of RDMA, at either end. */
class HttpTest {
    private static final Path CURL = Path.of("/usr/bin/curl");

    @TempDir
    private Path directory;

    @Test
    void fetchesFromAPlainHttpServer() throws IOException {
        byte[] page = randomBytes(300_000);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0), 5);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, page.length);
            exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.start();
        try (RdmaSocket socket = new RdmaSocket(server.getAddress().getAddress(), server.getAddress().getPort())) {
            assertTrue(socket.getOption(RdmaSocketOptions.TRANSPORT).is(Transport.TCP));
            socket.getOutputStream().write("GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".getBytes());
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
            assertTrue(answer.startsWith("HTTP/1.1 200 OK\r\n"), answer);
            String body = answer.substring(answer.indexOf("\r\n\r\n") + 4);
            assertArrayEquals(page, body.getBytes(StandardCharsets.ISO_8859_1));
        } finally {
            server.stop(0);
        }
    }

    @Test
    void plainClientsFetchFromTheExample() throws Exception {
        byte[] content = randomBytes(1_000_000);
        Path file = Files.write(directory.resolve("file"), content);
        try (Program example = Program.java("HttpServer", "0", file.toString())) {
            URI page = page(example);
            HttpURLConnection connection = (HttpURLConnection) page.toURL().openConnection(Proxy.NO_PROXY);
            assertEquals(200, connection.getResponseCode());
            try (InputStream body = connection.getInputStream()) {
                assertArrayEquals(content, body.readAllBytes());
            }
            Files.delete(file);
            connection = (HttpURLConnection) page.toURL().openConnection(Proxy.NO_PROXY);
            assertEquals(404, connection.getResponseCode());
        }
    }

    @Test
    void curlFetchesFromTheExample() throws Exception {
        if (!Files.isExecutable(CURL)) {
            System.out.println("HttpTest skips curl, which is not installed");
            Assumptions.abort("no curl");
        }
        try (Program example = Program.java("HttpServer", "0");
                Program curl = Program.start(CURL.toString(), "--silent", "--show-error", "--noproxy", "*",
                        page(example).toString())) {
            assertTrue(curl.awaitSuccess().startsWith("Hello over tcp"), curl::output);
        }
    }

    private static URI page(Program example) throws InterruptedException {
        Matcher port = Pattern.compile(":(\\d+)/ listens over tcp.*").matcher(example.awaitLine("http://localhost"));
        assertTrue(port.matches(), example::output);
        return URI.create("http://127.0.0.1:" + port.group(1) + "/");
    }

    private static byte[] randomBytes(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }
}
