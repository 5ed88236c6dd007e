package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** The key and certificate of one TLS server, made by the JDK's keytool. */
final class TlsKeys {
    private static final String PROTOCOL = "TLSv1.3";
    private static final String PASSWORD = "changeit";

    private final KeyStore store;
    private final SSLContext context = SSLContext.getInstance(PROTOCOL);

    private TlsKeys(KeyStore store) throws GeneralSecurityException {
        this.store = store;
        context.init(keys(), null, null);
    }

    /** Key managers that show this certificate. */
    KeyManager[] keys() throws GeneralSecurityException {
        KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
        factory.init(store, PASSWORD.toCharArray());
        return factory.getKeyManagers();
    }

    /** Trust managers that trust this certificate and no other. */
    TrustManager[] trust() throws GeneralSecurityException {
        TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
        factory.init(store);
        return factory.getTrustManagers();
    }

    /** Makes the key of a host. */
    static TlsKeys make(Path file, String host) throws Exception {
        // The second compiler has crashed under emulation, see src/test/guest/test.
        Process keytool = new ProcessBuilder(System.getProperty("java.home") + "/bin/keytool",
                "-J-XX:TieredStopAtLevel=1", "-genkeypair", "-keyalg", "EC", "-dname", "CN=" + file.getFileName(),
                "-ext", "san=ip:" + host, "-keystore", file.toString(), "-storepass", PASSWORD)
                .redirectErrorStream(true).start();
        String output = new String(keytool.getInputStream().readAllBytes());
        assertEquals(0, keytool.waitFor(), output);
        return new TlsKeys(KeyStore.getInstance(file.toFile(), PASSWORD.toCharArray()));
    }

    /** The context that makes server sockets; it can resume sessions. */
    SSLContext context() {
        return context;
    }

    /** A client without a memory that trusts this server and no other. */
    Client client() throws GeneralSecurityException {
        return new Client((X509TrustManager) trust()[0]);
    }

    /** A context whose sockets show this certificate, and trust the peer's and no other. */
    SSLContext trusting(TlsKeys peer) throws GeneralSecurityException {
        SSLContext both = SSLContext.getInstance(PROTOCOL);
        both.init(keys(), peer.trust(), null);
        return both;
    }

    /** Counts the certificates that it is shown: a resumed session shows none. */
    static final class Client implements X509TrustManager {
        private final X509TrustManager trust;
        private final SSLContext context = SSLContext.getInstance(PROTOCOL);
        private final AtomicInteger shown = new AtomicInteger();

        private Client(X509TrustManager trust) throws GeneralSecurityException {
            this.trust = trust;
            context.init(null, new TrustManager[] {this}, null);
        }

        /** The context that makes the client's sockets. */
        SSLContext context() {
            return context;
        }

        /** How many certificates it has been shown. */
        int shown() {
            return shown.get();
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
            shown.incrementAndGet();
            trust.checkServerTrusted(chain, type);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
            trust.checkClientTrusted(chain, type);
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return trust.getAcceptedIssuers();
        }
    }
}
