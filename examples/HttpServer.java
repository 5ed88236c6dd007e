// Answers HTTP requests, from curl or a browser too, with a file or its own transport. Usage: HttpServer [PORT [FILE]]

import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;

static final int LONGEST_HEAD = 8192, PATIENCE_MILLIS = 10_000;

void main(String[] args) {
    int port = args.length > 0 ? Integer.parseInt(args[0]) : 8080;
    Optional<Path> file = args.length > 1 ? Optional.of(Path.of(args[1])) : Optional.empty();
    try (RdmaServerSocket server = new RdmaServerSocket(port)) {
        IO.println("http://localhost:" + server.getLocalPort() + "/ "
                + server.getOption(RdmaSocketOptions.TRANSPORT).reason());
        while (true) {
            RdmaSocket socket = server.accept();
            Thread.startVirtualThread(() -> serve(socket, file));
        }
    } catch (IOException e) {
        System.err.println("cannot serve port " + port + ": " + e.getMessage());
        System.exit(1);
    }
}

void serve(RdmaSocket socket, Optional<Path> file) {
    try (socket) {
        socket.setSoTimeout(PATIENCE_MILLIS);
        String request = readHead(socket.getInputStream());
        String method = request.split(" ", 2)[0];
        if (!method.equals("GET") && !method.equals("HEAD")) {
            answer(socket, "405 Method Not Allowed", 0);
            return;
        }
        byte[] hello = ("Hello over " + socket.getOption(RdmaSocketOptions.TRANSPORT) + "\n").getBytes();
        try (InputStream body = file.isPresent() ? Files.newInputStream(file.get()) : new ByteArrayInputStream(hello)) {
            answer(socket, "200 OK", file.isPresent() ? Files.size(file.get()) : hello.length);
            if (method.equals("GET")) {
                body.transferTo(socket.getOutputStream());
            }
        } catch (NoSuchFileException e) {
            answer(socket, "404 Not Found", 0);
        }
    } catch (IOException e) {
        IO.println(socket.getRemoteSocketAddress() + ": " + e.getMessage());
    }
}

/** The request line and what follows it, up to the empty line. */
String readHead(InputStream in) throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
        int next = in.read();
        if (next < 0 || head.length() == LONGEST_HEAD) {
            throw new IOException("that was no HTTP request");
        }
        head.append((char) next);
    }
    return head.toString();
}

void answer(Socket socket, String status, long length) throws IOException {
    socket.getOutputStream().write(("HTTP/1.1 " + status + "\r\nContent-Type: text/plain\r\nContent-Length: " + length
            + "\r\nConnection: close\r\n\r\n").getBytes());
}
