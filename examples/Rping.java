// Ping-pong as rping plays it, with the C program or itself. Run it for its usage

import org.rdmasockets.verbs.ConnectionParameters;

static final int RECORD_BYTES = 16, MIN_BYTES = 23, MAX_BYTES = 65_535, FIRST = 'A', LAST = 'z';
static final ConnectionParameters PARAMETERS = new ConnectionParameters(new byte[0], 1, 1, 6, 7);

/** Either end may be the C program, so the options are its. */
void main(String[] args) throws IOException {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i < args.length; i++) {
        boolean hasValue = Set.of("-a", "-p", "-C", "-S").contains(args[i]) && i + 1 < args.length;
        options.put(args[i], hasValue ? args[++i] : "");
    }
    boolean isServer = options.containsKey("-s");
    int size = number(options, "-S", 64);
    if (!Set.of("-s", "-c", "-v", "-V", "-a", "-p", "-C", "-S").containsAll(options.keySet()) || size < MIN_BYTES
            || size > MAX_BYTES || isServer == options.containsKey("-c") || !isServer && !options.containsKey("-a")) {
        System.err.println("""
                usage: Rping -s [-v] [-a ADDRESS] [-p PORT]
                       Rping -c [-v] [-V] [-S SIZE] [-C COUNT] -a ADDRESS [-p PORT]
                -v prints the pings, -V checks what comes back; SIZE is from 23 to 65535""");
        System.exit(1);
    }
    InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(options.getOrDefault("-a", "0.0.0.0")),
            number(options, "-p", 7174));
    try (VerbsConnection connection = new VerbsConnection()) {
        if (isServer) {
            IO.println("listening on port " + connection.listen(address).getPort());
            connection.awaitRequest();
            serve(connection, options.containsKey("-v"));
        } else {
            connection.resolve(address);
            int count = number(options, "-C", 0);
            ping(connection, size, count > 0 ? count : Integer.MAX_VALUE, options);
        }
    }
}

int number(Map<String, String> options, String flag, int otherwise) {
    String text = options.getOrDefault(flag, "" + otherwise);
    if (!text.matches("[0-9]{1,9}")) {
        throw new IllegalArgumentException(flag + " wants a number, not '" + text + "'");
    }
    return Integer.parseInt(text);
}

/** Until the client disconnects: reads where it says, says so, writes back where it says then, and says so. */
void serve(VerbsConnection connection, boolean verbose) throws IOException {
    var advert = connection.allocate(RECORD_BYTES);
    var goAhead = connection.allocate(RECORD_BYTES);
    var ping = connection.allocate(MAX_BYTES);
    connection.postReceive(advert);
    connection.establish(PARAMETERS);
    int pings = 0;
    for (ByteBuffer source; (source = next(connection, advert)) != null; pings++) {
        int bytes = length(source);
        connection.read(ping, bytes, source.getLong(0), source.getInt(8));
        if (verbose) {
            IO.println("server ping data: " + text(ping, bytes));
        }
        connection.send(goAhead);
        ByteBuffer sink = next(connection, advert);
        if (sink == null) {
            throw new EOFException("the client has disconnected in the middle of ping " + pings);
        }
        if (length(sink) < bytes) {
            throw new ProtocolException("the client takes less than the " + bytes + " bytes that it gave");
        }
        connection.write(ping, bytes, sink.getLong(0), sink.getInt(8));
        connection.send(goAhead);
    }
    IO.println("the client has disconnected after " + pings + " pings");
}

void ping(VerbsConnection connection, int size, int count, Map<String, String> options) throws IOException {
    var source = connection.allocate(size);
    var sink = connection.allocate(size);
    var goAhead = connection.allocate(RECORD_BYTES);
    var adverts = List.of(advert(connection, source), advert(connection, sink));
    connection.postReceive(goAhead);
    connection.establish(PARAMETERS);
    for (int ping = 0; ping < count; ping++) {
        fill(source.buffer(), ping);
        for (var advert : adverts) {
            connection.send(advert);
            if (next(connection, goAhead) == null) {
                throw new EOFException("the server has disconnected at ping " + ping);
            }
        }
        if (options.containsKey("-V") && !source.buffer().equals(sink.buffer())) {
            throw new ProtocolException("data mismatch at ping " + ping);
        }
        if (options.containsKey("-v")) {
            IO.println("ping data: " + text(sink, size));
        }
    }
    connection.disconnect();
    IO.println(count + " pings" + (options.containsKey("-V") ? ", all as they were sent" : ""));
}

/** A number, then letters, each ping from the next one on, and a zero. */
void fill(ByteBuffer ping, int number) {
    int letters = LAST - FIRST + 1;
    ping.put("rdma-ping-%d: ".formatted(number).getBytes());
    for (int i = number; ping.remaining() > 1; i++) {
        ping.put((byte) (FIRST + i % letters));
    }
    ping.put((byte) 0);
}

/** A record is an address (8 bytes), a key and a length (4 each), big-endian. */
VerbsConnection.Memory advert(VerbsConnection connection, VerbsConnection.Memory memory) throws IOException {
    var advert = connection.allocate(RECORD_BYTES);
    advert.buffer().putLong(memory.address()).putInt(memory.key()).putInt(memory.bytes());
    return advert;
}

/** The next message, copied, as its place is for the one after it; null at the end of the connection. */
ByteBuffer next(VerbsConnection connection, VerbsConnection.Memory place) throws IOException {
    int length = connection.receive();
    if (length < 0) {
        return null;
    }
    if (length != RECORD_BYTES) {
        throw new ProtocolException("a message of " + length + " bytes instead of " + RECORD_BYTES);
    }
    ByteBuffer copy = ByteBuffer.allocate(RECORD_BYTES).put(place.buffer());
    connection.postReceive(place);
    return copy;
}

/** Checks the length that a client announces. */
int length(ByteBuffer advert) throws IOException {
    int length = advert.getInt(12);
    if (length < 1 || length > MAX_BYTES) {
        throw new ProtocolException("pings are of 1 to " + MAX_BYTES + " bytes, not "
                + Integer.toUnsignedString(length));
    }
    return length;
}

String text(VerbsConnection.Memory memory, int bytes) {
    return StandardCharsets.US_ASCII.decode(memory.buffer().limit(bytes)).toString().split("\0", 2)[0];
}
