// The server of rdma-example: lends a buffer to one client. Usage: RdmaCopyServer [-a ADDRESS] [-p PORT]

import org.rdmasockets.verbs.ConnectionParameters;

static final int DEFAULT_PORT = 20886, RECORD_BYTES = 16, MAX_BYTES = 1 << 24;

/** Either end may be the C program. A record is an address (8 bytes), a length and a key (4 each), as in C. */
void main(String[] args) throws IOException {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i < args.length; i += 2) {
        if (!List.of("-a", "-p").contains(args[i]) || i + 1 == args.length) {
            System.err.println("usage: RdmaCopyServer [-a ADDRESS] [-p PORT]");
            System.exit(1);
        }
        options.put(args[i], args[i + 1]);
    }
    serve(new InetSocketAddress(InetAddress.getByName(options.getOrDefault("-a", "0.0.0.0")),
            Integer.parseInt(options.getOrDefault("-p", "" + DEFAULT_PORT))));
}

void serve(InetSocketAddress local) throws IOException {
    try (VerbsConnection connection = new VerbsConnection()) {
        // 1: listen
        IO.println("listening on port " + connection.listen(local).getPort());
        // 2: wait for a client, whose device has the resources
        InetSocketAddress client = connection.awaitRequest();
        // 3: accept it, with a receive for what it says first
        var wanted = connection.allocate(RECORD_BYTES);
        connection.postReceive(wanted);
        connection.establish(new ConnectionParameters(new byte[0], 3, 3, 3, 0));
        IO.println("a client at " + client.getAddress().getHostAddress());
        // 4: allocate as much as it has
        int length = announced(connection.receive(), record(wanted).getInt(8));
        var buffer = connection.allocate(length);
        // 5: tell where that is
        var lent = connection.allocate(RECORD_BYTES);
        record(lent).putLong(buffer.address()).putInt(length).putInt(buffer.key());
        connection.send(lent);
        IO.println("lent " + length + " bytes");
        // 6: until it disconnects
        connection.awaitDisconnect();
        IO.println("the client has disconnected");
    }
}

ByteBuffer record(VerbsConnection.Memory memory) {
    return memory.buffer().order(ByteOrder.nativeOrder());
}

/** Checks the length that a client announces. */
int announced(int received, int length) throws IOException {
    if (received != RECORD_BYTES || length <= 0 || length > MAX_BYTES) {
        throw new ProtocolException("a record of " + RECORD_BYTES + " bytes that asks for 1 to " + MAX_BYTES
                + " is wanted, not one of " + received + " that asks for " + Integer.toUnsignedString(length));
    }
    return length;
}
