// Copies a file in the protocol of rcopy, so either end may be the C program. Run it without arguments for its usage.

import me.tongfei.progressbar.ProgressBar;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;

static final int OPEN = 1, CLOSE = 2, WRITE = 3, RESPONSE = 0x80;

void main(String[] args) throws IOException {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    int port = args.length == 4 && args[2].equals("-p") ? Integer.parseInt(args[3]) : 7427;
    if (args.length != 2 && args.length != 4) {
        IO.println("usage: FileCopy FILE HOST:DESTINATION [-p PORT], or FileCopy server DIRECTORY [-p PORT]");
    } else if (args[0].equals("server")) {
        Path directory = Path.of(args[1]).toRealPath();
        try (ServerSocket server = new RdmaServerSocket(port)) {
            while (true) {
                Socket socket = server.accept();
                Thread.startVirtualThread(() -> receive(socket, directory));
            }
        }
    } else {
        send(new File(args[0]), args[1].replaceFirst(":[^:]*$", ""), port, args[1].replaceFirst(".*:", ""));
    }
}

void send(File file, String host, int port, String name) throws IOException {
    try (Socket socket = new RdmaSocket(host, port);
            InputStream content = ProgressBar.wrap(new FileInputStream(file), file.getName())) {
        write(socket, OPEN, 0100644, Arrays.copyOf(name.getBytes(), name.getBytes().length + 8 & ~7));
        read(socket, OPEN | RESPONSE);
        write(socket, WRITE, 0, ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(file.length()).array());
        content.transferTo(socket.getOutputStream());
        read(socket, WRITE | RESPONSE);
        write(socket, CLOSE, 0);
        read(socket, CLOSE | RESPONSE);
    }
}

void receive(Socket socket, Path directory) {
    try (socket) {
        try (FileChannel file = create(directory, StandardCharsets.UTF_8.decode(read(socket, OPEN)).toString())) {
            write(socket, OPEN | RESPONSE, 0);
            file.transferFrom(Channels.newChannel(socket.getInputStream()), 0, read(socket, WRITE).getLong());
            write(socket, WRITE | RESPONSE, 0);
            read(socket, CLOSE);
            write(socket, CLOSE | RESPONSE, 0);
        } catch (FileNotFoundException | FileSystemException e) {
            write(socket, OPEN | RESPONSE, 13);
            throw e;
        }
    } catch (IOException | RuntimeException e) {
        IO.println(socket.getRemoteSocketAddress() + ": " + e);
    }
}

/** The client chooses the name: it must not lead out of the directory, neither by dots nor by a link. */
FileChannel create(Path directory, String name) throws IOException {
    Path file = directory.resolve(name.split("\0", 2)[0]).normalize();
    if (!file.getParent().toRealPath().startsWith(directory) || Files.isSymbolicLink(file)) {
        throw new AccessDeniedException(name);
    }
    return new FileOutputStream(file.toFile()).getChannel();
}

/** A message is 0, its command, its length, a number (mode, error) and 8 more bytes, little-endian; then a body. */
void write(Socket socket, int command, int number, byte... body) throws IOException {
    socket.getOutputStream().write(ByteBuffer.allocate(16 + body.length).order(ByteOrder.LITTLE_ENDIAN)
            .put(1, (byte) command).putShort(2, (short) (16 + body.length)).putInt(4, number).put(16, body).array());
}

ByteBuffer read(Socket socket, int command) throws IOException {
    ByteBuffer header = ByteBuffer.allocate(16).order(ByteOrder.LITTLE_ENDIAN);
    new DataInputStream(socket.getInputStream()).readFully(header.array());
    if (header.get(1) != (byte) command || command > RESPONSE && header.getInt(4) != 0) {
        throw new IOException("the peer answered with error number " + header.getInt(4));
    }
    return ByteBuffer.wrap(socket.getInputStream().readNBytes(header.getChar(2) - 16)).order(header.order());
}
