// An HTTP server and client of Apache HttpComponents over RDMA. Usage: HttpComponents server PORT DIRECTORY; or URL...

import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.classic.methods.HttpPost;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.BasicHttpClientConnectionManager;
import org.apache.hc.client5.http.impl.io.DefaultHttpClientConnectionOperator;
import org.apache.hc.client5.http.ssl.TlsSocketStrategy;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.HttpStatus;
import org.apache.hc.core5.http.config.RegistryBuilder;
import org.apache.hc.core5.http.impl.bootstrap.HttpServer;
import org.apache.hc.core5.http.impl.bootstrap.ServerBootstrap;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.http.io.entity.FileEntity;
import org.apache.hc.core5.http.io.entity.StringEntity;
import org.apache.hc.core5.util.TimeValue;
import org.rdmasockets.RdmaServerSocketFactory;
import org.rdmasockets.RdmaSocketFactory;

static final int LONGEST_POST = 100_000_000;

void main(String[] args) throws Exception {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    if (args.length == 0) {
        System.err.println("usage: HttpComponents server PORT DIRECTORY, or HttpComponents URL...");
        System.exit(2);
    }
    if (args[0].equals("server")) {
        serve(Integer.parseInt(args[1]), Path.of(args[2]).toRealPath());
    } else {
        fetch(args);
    }
}

/** GET gives a file of the directory, POST gives back what it brings. */
void serve(int port, Path directory) throws Exception {
    HttpServer server = ServerBootstrap.bootstrap().setListenerPort(port)
            .setServerSocketFactory(new RdmaServerSocketFactory())
            .setRequestRouter((any, names) -> (request, response, context) -> { // for any host name
                if (request.getEntity() != null) {
                    response.setEntity(new ByteArrayEntity(EntityUtils.toByteArray(request.getEntity(), LONGEST_POST),
                            ContentType.APPLICATION_OCTET_STREAM));
                    return;
                }
                Path file = directory.resolve(request.getPath().substring(1)).normalize();
                if (file.startsWith(directory) && Files.isRegularFile(file)) {
                    response.setEntity(new FileEntity(file.toFile(), ContentType.APPLICATION_OCTET_STREAM));
                } else {
                    response.setCode(HttpStatus.SC_NOT_FOUND);
                    response.setEntity(new StringEntity("no such file\n"));
                }
            }).create();
    server.start();
    IO.println("port " + server.getLocalPort());
    server.awaitTermination(TimeValue.MAX_VALUE);
}

long crc(byte[] bytes) {
    CRC32 crc = new CRC32();
    crc.update(bytes);
    return crc.getValue();
}

/** Gets each page and posts it to where it came from, all over one connection. */
void fetch(String[] urls) throws IOException {
    var operator = new DefaultHttpClientConnectionOperator(proxy -> RdmaSocketFactory.getDefault().createSocket(), null,
            null, RegistryBuilder.<TlsSocketStrategy>create().build());
    try (CloseableHttpClient client = HttpClients.custom()
            .setConnectionManager(new BasicHttpClientConnectionManager(operator, null)).build()) {
        for (String url : urls) {
            byte[] page = client.execute(new HttpGet(url), response -> {
                byte[] body = EntityUtils.toByteArray(response.getEntity());
                IO.println(response.getVersion() + " " + response.getCode() + ", " + body.length + " bytes, CRC "
                        + crc(body) + ": " + URI.create(url).getPath());
                return body;
            });
            HttpPost post = new HttpPost(url);
            post.setEntity(new ByteArrayEntity(page, ContentType.APPLICATION_OCTET_STREAM, true)); // in chunks
            boolean same = client.execute(post, response -> Arrays.equals(page,
                    EntityUtils.toByteArray(response.getEntity())));
            IO.println("posted, " + (same ? "the same" : "SOMETHING ELSE") + " came back");
        }
    }
}
