package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import org.junit.jupiter.api.Test;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** Errors of verbs come out as those of java.net. */
class NetErrorsTest {
    private static final InetSocketAddress ADDRESS = new InetSocketAddress("192.0.2.1", 7471);

    @Test
    void errorsOfConnectingBecomeThoseOfJavaNet() {
        assertInstanceOf(ConnectException.class, connecting(Errno.ECONNREFUSED));
        assertInstanceOf(ConnectException.class, connecting(Errno.ETIMEDOUT));
        assertInstanceOf(ConnectException.class, connecting(Errno.ENETUNREACH));
        assertInstanceOf(NoRouteToHostException.class, connecting(Errno.EHOSTUNREACH));
        assertInstanceOf(NoRouteToHostException.class, connecting(Errno.ENODEV));
    }

    @Test
    void errorsOfBindingBecomeThoseOfJavaNet() {
        assertInstanceOf(BindException.class, binding(Errno.EADDRINUSE));
        assertInstanceOf(BindException.class, binding(Errno.ENODEV));
        assertInstanceOf(BindException.class, binding(Errno.EADDRNOTAVAIL));
    }

    @Test
    void anyOtherErrorKeepsItsTextAndRemedy() {
        VerbsException e = new VerbsException("ibv_reg_mr", Errno.ENOMEM.number(), "lengthBytes=4096",
                "raise the memlock limit (ulimit -l)");
        IOException shown = NetErrors.connectFailed(ADDRESS, e);
        assertInstanceOf(SocketException.class, shown);
        assertEquals("ibv_reg_mr failed: ENOMEM (12): lengthBytes=4096; raise the memlock limit (ulimit -l)",
                shown.getMessage());
        assertSame(e, shown.getCause());
    }

    @Test
    void tooManyFilesReadAsInTheJdkAndNameTheLimit() {
        for (IOException e : new IOException[] {connecting(Errno.EMFILE), binding(Errno.EMFILE)}) {
            assertEquals(SocketException.class, e.getClass());
            assertTrue(e.getMessage().startsWith("Too many open files: ") && e.getMessage().contains("ulimit -n"),
                    e::getMessage);
        }
        assertTrue(connecting(Errno.ENFILE).getMessage().startsWith("Too many open files in system: "));
    }

    @Test
    void textsNameTheAddressAndKeepTheCause() {
        IOException refused = connecting(Errno.ECONNREFUSED);
        assertTrue(refused.getMessage().contains("192.0.2.1") && refused.getMessage().startsWith("Connection refused"),
                refused.getMessage());
        assertInstanceOf(VerbsException.class, refused.getCause());
    }

    @Test
    void aSystemWithoutFreePortsSaysSo() {
        VerbsException none = new VerbsException("rdma_bind_addr", Errno.EADDRINUSE.number(), "address=127.0.0.1:0",
                "no port is free; close some connections");
        assertEquals("Address already in use: no port is free; close some connections",
                NetErrors.bindFailed(new InetSocketAddress("127.0.0.1", 0), none).getMessage());
    }

    private static IOException connecting(Errno errno) {
        return NetErrors.connectFailed(ADDRESS, new VerbsException("rdma_connect", errno, ""));
    }

    private static IOException binding(Errno errno) {
        return NetErrors.bindFailed(ADDRESS, new VerbsException("rdma_bind_addr", errno, ""));
    }
}
