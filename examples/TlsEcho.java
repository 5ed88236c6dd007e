// Echoes over TLS on RDMA sockets. Usage: TlsEcho server HOST PORT FILE; TlsEcho HOST PORT FILE [MEGABYTES]

import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;

static final String PASSWORD = "changeit";

/** The server makes FILE, a key store with a certificate for HOST, which the client trusts. */
void main(String[] args) throws Exception {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    if (args.length < 3) {
        System.err.println("usage: TlsEcho server HOST PORT FILE, or TlsEcho HOST PORT FILE [MEGABYTES]");
        System.exit(2);
    }
    if (args.length == 4 && args[0].equals("server")) {
        serve(InetAddress.getByName(args[1]), Integer.parseInt(args[2]), Path.of(args[3]));
    } else {
        SSLContext context = context(Path.of(args[2]));
        long bytes = 1_000_000L * (args.length > 3 ? Integer.parseInt(args[3]) : 10);
        echo(context, args[0], Integer.parseInt(args[1]), bytes);
        echo(context, args[0], Integer.parseInt(args[1]), bytes / 100); // resumes the session of the first
    }
}

void serve(InetAddress host, int port, Path file) throws Exception {
    String name = host.getHostAddress();
    if (!Files.exists(file) && new ProcessBuilder(System.getProperty("java.home") + "/bin/keytool", "-genkeypair",
            "-keyalg", "EC", "-dname", "CN=" + name, "-ext", "san=ip:" + name + ",dns:" + host.getHostName(),
            "-keystore", file.toString(), "-storepass", PASSWORD).inheritIO().start().waitFor() != 0) {
        System.exit(1);
    }
    SSLSocketFactory factory = context(file).getSocketFactory();
    try (RdmaServerSocket server = new RdmaServerSocket(port, 50, host)) {
        IO.println("port " + server.getLocalPort());
        while (true) {
            RdmaSocket socket = server.accept();
            Thread.startVirtualThread(() -> {
                try (Socket tls = factory.createSocket(socket, null, true)) { // without a host: as the server
                    tls.getInputStream().transferTo(tls.getOutputStream());
                    tls.shutdownOutput();
                } catch (IOException e) {
                    IO.println(socket.getRemoteSocketAddress() + ": " + e.getMessage());
                }
            });
        }
    }
}

/** Keys and trusted certificates from one file. A real client has a file with the certificate alone. */
SSLContext context(Path file) throws Exception {
    KeyStore store = KeyStore.getInstance(file.toFile(), PASSWORD.toCharArray());
    KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
    keys.init(store, PASSWORD.toCharArray());
    TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLSv1.3");
    context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    return context;
}

void echo(SSLContext context, String host, int port, long bytes) throws Exception {
    long start = System.currentTimeMillis();
    RdmaSocket socket = new RdmaSocket(host, port);
    try (SSLSocket tls = (SSLSocket) context.getSocketFactory().createSocket(socket, host, port, true)) {
        SSLParameters parameters = tls.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS"); // the certificate must be for this host
        tls.setSSLParameters(parameters);
        SSLSession session = tls.getSession();
        FutureTask<byte[]> sent = new FutureTask<>(() -> send(tls, bytes));
        Thread.startVirtualThread(sent);
        MessageDigest came = MessageDigest.getInstance("SHA-256");
        long count = new DigestInputStream(tls.getInputStream(), came).transferTo(OutputStream.nullOutputStream());
        String kind = session.getCreationTime() < start ? " resumed: " : " new session: ";
        String result = MessageDigest.isEqual(sent.get(), came.digest()) ? "equal" : "DIFFERENT";
        IO.println(session.getProtocol() + kind + count + " bytes came back, " + result + ", over "
                + socket.getOption(RdmaSocketOptions.TRANSPORT).name());
    }
}

/** Sends random bytes, ends the stream in this direction only, and gives the digest of what was sent. */
byte[] send(Socket tls, long bytes) throws Exception {
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    OutputStream out = new DigestOutputStream(tls.getOutputStream(), digest);
    byte[] block = new byte[10_000];
    Random random = new Random(bytes);
    for (long left = bytes; left > 0; left -= block.length) {
        random.nextBytes(block);
        out.write(block);
    }
    tls.shutdownOutput();
    return digest.digest();
}
