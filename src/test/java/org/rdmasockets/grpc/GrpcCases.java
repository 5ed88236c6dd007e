package org.rdmasockets.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.ForwardingServerBuilder;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.census.InternalCensusTracingAccessor;
import io.grpc.testing.integration.AbstractInteropTest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.Request;
import org.junit.runner.Result;
import org.junit.runner.Runner;
import org.junit.runner.manipulation.Filter;
import org.junit.runner.notification.Failure;
import org.junit.runners.BlockJUnit4ClassRunner;
import org.junit.runners.model.InitializationError;

/**
 * gRPC's interop cases as gRPC has them, class {@code AbstractInteropTest}, with tracers and Census at both ends as
 * over its own transports. They are of JUnit 4.
 */
public final class GrpcCases extends AbstractInteropTest {
    private final Servers servers;
    private final Channels channels;
    /** The server that the case has started. */
    private Server made;

    /** Makes builders of servers on any port. */
    interface Servers {
        ServerBuilder<?> builder() throws IOException;
    }

    /** Makes builders of channels to such a server. */
    interface Channels {
        ManagedChannelBuilder<?> builder(int port) throws IOException;
    }

    private GrpcCases(Servers servers, Channels channels) {
        this.servers = servers;
        this.channels = channels;
    }

    /** All cases, none left out, each a test that fails if the case fails, and also if it does not run. */
    static Stream<DynamicTest> all(Servers servers, Channels channels) {
        List<DynamicTest> tests = new ArrayList<>();
        for (Description one : runner(servers, channels).getDescription().getChildren()) {
            tests.add(DynamicTest.dynamicTest(one.getMethodName(), () -> run(one, runner(servers, channels))));
        }
        assertTrue(tests.size() >= 35, () -> "gRPC has " + tests.size() + " cases");
        return tests.stream();
    }

    private static Runner runner(Servers servers, Channels channels) {
        try {
            return new BlockJUnit4ClassRunner(GrpcCases.class) {
                @Override
                protected void validateConstructor(List<Throwable> errors) {
                    // It has arguments.
                }

                @Override
                protected Object createTest() {
                    return new GrpcCases(servers, channels);
                }
            };
        } catch (InitializationError e) {
            throw new AssertionError(e);
        }
    }

    private static void run(Description one, Runner runner) throws Throwable {
        Result result = new JUnitCore().run(Request.runner(runner)
                .filterWith(Filter.matchMethodDescription(one)));
        for (Failure failure : result.getFailures()) {
            throw failure.getException();
        }
        assertEquals(1, result.getRunCount(), "cases that ran");
        assertEquals(0, result.getIgnoreCount() + result.getAssumptionFailureCount(), "cases that did not run to their"
                + " end");
    }

    @Override
    protected ServerBuilder<?> getServerBuilder() {
        try {
            ServerBuilder<?> builder = servers.builder().maxInboundMessageSize(MAX_MESSAGE_SIZE)
                    .addStreamTracerFactory(createCustomCensusTracerFactory())
                    .addStreamTracerFactory(InternalCensusTracingAccessor.getServerStreamTracerFactory());
            return new Kept(builder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Keeps the server: its port is needed. */
    private final class Kept extends ForwardingServerBuilder<Kept> {
        private final ServerBuilder<?> builder;

        Kept(ServerBuilder<?> builder) {
            this.builder = builder;
        }

        @Override
        protected ServerBuilder<?> delegate() {
            return builder;
        }

        @Override
        public Server build() {
            made = super.build();
            return made;
        }
    }

    @Override
    protected ManagedChannelBuilder<?> createChannelBuilder() {
        try {
            return channels.builder(made.getPort()).maxInboundMessageSize(MAX_MESSAGE_SIZE)
                    .intercept(createCensusStatsClientInterceptor(),
                            InternalCensusTracingAccessor.getClientInterceptor());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
