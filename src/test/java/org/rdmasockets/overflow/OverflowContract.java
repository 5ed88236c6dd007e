package org.rdmasockets.overflow;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.Transport;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.internal.connection.Engine;

/** Callers that come to the end of their stack in any method harm no other. */
@Timeout(value = 5, unit = TimeUnit.MINUTES)
abstract class OverflowContract {
    static void harmsNoOther(ThreadKind kind, int methods, Callable<Scene> made) throws Exception {
        Engine engine = Engine.of(Providers.sharedMemory());
        long before = engine.registeredBytes();
        Scene scene = made.call();
        try {
            int called = scene.run(kind);
            assertTrue(called >= methods, called + " methods");
        } finally {
            scene.end();
        }
        Await.until("no connection is left", () -> {
            System.gc(); // a socket whose close overflowed is the cleaner's
            return engine.registeredBytes() <= before;
        }, () -> engine);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void socketsOverSharedMemory(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 100, () -> new SocketScene(Transport.SHARED_MEMORY));
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void datagramsOverSharedMemory(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 33, () -> new DatagramScene(Transport.SHARED_MEMORY));
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void endpoints(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 110, EndpointScene::new);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void verbs(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 100, VerbsScene::new);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void callsOverEndpoints(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 30, () -> new CallScene(false));
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void callsOverDatagrams(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 30, () -> new CallScene(true));
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void grpcOverEndpoints(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 20, () -> new GrpcScene(false));
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void grpcOverDatagrams(ThreadKind kind) throws Exception {
        harmsNoOther(kind, 20, () -> new GrpcScene(true));
    }
}
