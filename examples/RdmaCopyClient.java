// The client of rdma-example: writes a text to the server, reads it back, compares. Run it for its usage

import org.rdmasockets.verbs.ConnectionParameters;

static final int DEFAULT_PORT = 20886, RECORD_BYTES = 16;

/** Either end may be the C program. A record is an address (8 bytes), a length and a key (4 each), as in C. */
void main(String[] args) throws IOException {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
        options.put(args[i], args[i + 1]);
    }
    if (args.length % 2 != 0 || !Set.of("-a", "-p", "-s").containsAll(options.keySet())
            || options.getOrDefault("-s", "").isEmpty()) {
        System.err.println("usage: RdmaCopyClient [-a ADDRESS] [-p PORT] -s TEXT");
        System.exit(1);
    }
    InetAddress address = InetAddress.getByName(options.getOrDefault("-a", "127.0.0.1"));
    int port = Integer.parseInt(options.getOrDefault("-p", "" + DEFAULT_PORT));
    boolean same = copy(new InetSocketAddress(address, port), options.get("-s").getBytes());
    IO.println(same ? "SUCCESS, source and destination match" : "FAILURE, source and destination differ");
    System.exit(same ? 0 : 1);
}

boolean copy(InetSocketAddress server, byte[] text) throws IOException {
    try (VerbsConnection connection = new VerbsConnection()) {
        // 1: find the device that leads there, and allocate what is needed on it
        connection.resolve(server);
        var source = connection.allocate(text.length);
        var copy = connection.allocate(text.length);
        source.buffer().put(text);
        // 2: connect, with a receive for what the server says first
        var lent = connection.allocate(RECORD_BYTES);
        connection.postReceive(lent);
        connection.establish(new ConnectionParameters(new byte[0], 3, 3, 3, 0));
        // 3: tell how much there is, and learn where it can go
        var own = connection.allocate(RECORD_BYTES);
        record(own).putLong(source.address()).putInt(text.length).putInt(source.key());
        connection.send(own);
        int received = connection.receive();
        if (received != RECORD_BYTES || record(lent).getInt(8) < text.length) {
            throw new ProtocolException("the server lends " + (received == RECORD_BYTES ? record(lent).getInt(8) : 0)
                    + " bytes, not " + text.length + ": is it one of rdma-example?");
        }
        long address = record(lent).getLong(0);
        int key = record(lent).getInt(12);
        // 4 and 5: write there, and read it back; the server takes no part
        connection.write(source, text.length, address, key);
        connection.read(copy, text.length, address, key);
        // 6: compare
        boolean same = source.buffer().equals(copy.buffer());
        // 7: disconnect
        connection.disconnect();
        return same;
    }
}

ByteBuffer record(VerbsConnection.Memory memory) {
    return memory.buffer().order(ByteOrder.nativeOrder());
}
