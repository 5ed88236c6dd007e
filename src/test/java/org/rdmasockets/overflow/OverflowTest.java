package org.rdmasockets.overflow;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketFactory;
import org.rdmasockets.RdmaSockets;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.grpc.RdmaChannelBuilder;

/** Over the shared memory of one process, TCP and UDP. */
class OverflowTest extends OverflowContract {
    private static final String HOST = "localhost";
    /** Refused once the name was looked up. */
    private static final int NO_PORT = 70_000;

    /** Calls at the end of a stack with less room than is asked for; there, one does not even get into its list. */
    private static final int WITHOUT_ROOM = 14;

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void socketsOverTcp(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 100, () -> new SocketScene(Transport.TCP));
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void datagramsOverUdp(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 33, () -> new DatagramScene(Transport.UDP));
    }

    /** They go on in the JDK, which takes locks that an overflow can leave held for good. */
    @Test
    void theseAskForRoomBeforeAnythingElse() throws Exception {
        asksForRoom("new RdmaSocket", () -> new RdmaSocket(HOST, NO_PORT));
        asksForRoom("createSocket", () -> ((RdmaSocketFactory) RdmaSocketFactory.getDefault())
                .createSocket(HOST, NO_PORT));
        asksForRoom("connect", () -> RdmaEndpoint.builder().connect(HOST, NO_PORT));
        asksForRoom("registerMXBean", RdmaSockets::registerMXBean);
        ManagedChannel channel = RdmaChannelBuilder.forAddress(HOST, 1).build();
        ClientCall<byte[], byte[]> call = channel.newCall(GrpcScene.ECHO, CallOptions.DEFAULT);
        call.cancel("over", null);
        asksForRoom("start", () -> call.start(new ClientCall.Listener<>() { }, new Metadata()));
        channel.shutdownNow();
    }

    private static void asksForRoom(String what, StackEnd.Step step) throws Exception {
        try {
            step.run(); // loads what it needs
        } catch (Throwable e) {
            assertEquals(false, e instanceof Error, e::toString);
        }
        List<Object> outcomes = new ArrayList<>();
        StackEnd.reach(ThreadKind.PLATFORM, what, () -> {
            try {
                step.run();
                outcomes.add("done");
            } catch (StackOverflowError e) {
                outcomes.add("overflow");
            } catch (Exception e) {
                outcomes.add(e);
            }
        });
        assertEquals(Collections.nCopies(WITHOUT_ROOM, "overflow"), outcomes.subList(0, WITHOUT_ROOM), what);
    }
}
