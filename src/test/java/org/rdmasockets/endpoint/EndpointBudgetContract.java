package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmasockets.contract.Await;
import org.rdmasockets.interop.Program;

/** The most memory that all peers together can make a process keep, in a process that has little. */
abstract class EndpointBudgetContract extends EndpointContract {
    private static final int MIB = 1 << 20;
    private static final Duration LONG = Duration.ofMinutes(10);

    private Program peer(String... options) throws Exception {
        return closing(Program.java(List.of(options), BudgetMain.class.getName(), fixture().device(),
                fixture().address().getHostAddress()));
    }

    private List<RdmaEndpoint> connect(Program peer, int count) throws Exception {
        int port = Integer.parseInt(peer.awaitLine("listening"));
        List<RdmaEndpoint> endpoints = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            endpoints.add(closing(builder().connect(fixture().address().getHostAddress(), port)));
        }
        return endpoints;
    }

    private static void awaitLease(RdmaEndpoint endpoint, int bytes) throws Exception {
        Await.until("a lease of " + bytes + " bytes is to be had again", () -> {
            try {
                endpoint.requestRemote(bytes, LONG);
                return true;
            } catch (EndpointException e) {
                assertEquals(EndpointException.Reason.REFUSED, e.reason(), e::getMessage);
                return false;
            }
        });
    }

    /** Each connection by itself may have 64 MiB. */
    @Test
    void allConnectionsTogetherHaveOneBudgetOfMemoryOnLease() throws Exception {
        List<RdmaEndpoint> endpoints = connect(peer("-Dorg.rdmasockets.leasedMebibytes=3"), 4);
        RemoteLease first = endpoints.get(0).requestRemote(MIB, LONG);
        endpoints.get(1).requestRemote(2 * MIB, LONG);
        refused(EndpointException.Reason.REFUSED, "at most 0 bytes", () -> endpoints.get(2).requestRemote(MIB, LONG));
        first.close();
        awaitLease(endpoints.get(2), MIB);
        refused(EndpointException.Reason.REFUSED, "at most 0 bytes", () -> endpoints.get(0).requestRemote(1, LONG));
        endpoints.get(1).close(); // its close returns its leases
        awaitLease(endpoints.get(3), 2 * MIB);
    }

    @Test
    void allConnectionsTogetherHaveOneBudgetOfLeases() throws Exception {
        List<RdmaEndpoint> endpoints = connect(peer("-Dorg.rdmasockets.leases=3"), 3);
        List<RemoteLease> leases = new ArrayList<>();
        for (RdmaEndpoint endpoint : endpoints) {
            leases.add(endpoint.requestRemote(8, LONG));
        }
        refused(EndpointException.Reason.REFUSED, "at most 0 bytes", () -> endpoints.get(0).requestRemote(8, LONG));
        leases.get(2).close();
        awaitLease(endpoints.get(1), 8);
    }

    /** A lease that was handed over counts until the application takes it, which this peer never does. */
    @Test
    void whatIsHandedOverStaysInTheBudget() throws Exception {
        List<RdmaEndpoint> endpoints = connect(peer("-Dorg.rdmasockets.leasedMebibytes=2"), 2);
        endpoints.get(0).handOver(endpoints.get(0).requestRemote(MIB, LONG));
        awaitLease(endpoints.get(1), MIB);
        refused(EndpointException.Reason.REFUSED, "at most 0 bytes", () -> endpoints.get(1).requestRemote(MIB, LONG));
        refused(EndpointException.Reason.REFUSED, "at most 0 bytes", () -> endpoints.get(0).requestRemote(MIB, LONG));
    }

    /** One that is not whole takes memory from the others, as long as its sender is there. */
    @Test
    void messagesThatAreNotWholeHaveOneBudget() throws Exception {
        Program peer = peer("-Dorg.rdmasockets.messageMebibytes=1");
        List<RdmaEndpoint> endpoints = connect(peer, 3);
        Forged last = Forged.sendPieces(endpoints.get(0), 2 * MIB, 36, 8000);
        Await.until("half of the pieces were taken", last::isSent);
        LocalRegion region = filled(endpoints.get(1), 700_000, 1);
        Pending<Void> send = endpoints.get(1).startSend(region);
        String limit = peer.awaitLine("limit:");
        assertTrue(limit.contains("raise -Dorg.rdmasockets.messageMebibytes"), limit);
        assertFalse(send.isDone());
        endpoints.get(2).send(filled(endpoints.get(2), 5000, 2)); // a message of one piece
        endpoints.get(2).receive(PATIENCE);
        endpoints.get(0).close();
        send.await(PATIENCE);
        endpoints.get(1).receive(PATIENCE);
        peer.awaitLine("received 700000 " + Arrays.hashCode(random(700_000, 1)));
    }

    /** Direct memory: a message that does not fit costs neither the process nor other connections. */
    @Test
    void aMessageForWhichThereIsNoMemoryHarmsNobodyElse() throws Exception {
        Program peer = peer("-XX:MaxDirectMemorySize=8m", "-Dorg.rdmasockets.messageMebibytes=1024");
        List<RdmaEndpoint> endpoints = connect(peer, 2);
        endpoints.get(0).startSend(filled(endpoints.get(0), 32 * MIB, 1));
        peer.awaitLine("failed:");
        for (int i = 0; i < 3; i++) {
            endpoints.get(1).send(filled(endpoints.get(1), 5000, i));
            endpoints.get(1).receive(PATIENCE);
        }
    }

    /** Nor does a lease. */
    @Test
    void aLeaseForWhichThereIsNoMemoryIsRefused() throws Exception {
        Program peer = peer("-XX:MaxDirectMemorySize=8m", "-Dorg.rdmasockets.leasedMebibytes=1024");
        List<RdmaEndpoint> endpoints = connect(peer, 2);
        int granted = 0;
        for (int i = 0; i < 12; i++) {
            try {
                endpoints.get(0).requestRemote(4 * MIB, LONG);
                granted++;
            } catch (EndpointException e) {
                assertEquals(EndpointException.Reason.REFUSED, e.reason(), e::getMessage);
            }
        }
        if (!fixture().device().equals("sharedmemory")) { // shared memory allocates in files, without such a limit
            assertTrue(granted < 2, "granted: " + granted);
        }
        endpoints.get(1).send(filled(endpoints.get(1), 5000, 1));
        endpoints.get(1).receive(PATIENCE);
        endpoints.get(0).send(filled(endpoints.get(0), 5000, 1));
        endpoints.get(0).receive(PATIENCE);
    }
}
