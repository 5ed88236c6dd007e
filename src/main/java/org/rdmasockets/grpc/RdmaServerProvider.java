package org.rdmasockets.grpc;

import io.grpc.InsecureServerCredentials;
import io.grpc.ServerBuilder;
import io.grpc.ServerCredentials;
import io.grpc.ServerProvider;

/**
 * Makes servers by {@link RdmaServerBuilder} where no other transport of gRPC is on the class path. gRPC finds it by
 * itself.
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // gRPC's types are for those who have gRPC
public final class RdmaServerProvider extends ServerProvider {
    /** For gRPC, which loads it as a service. */
    public RdmaServerProvider() {}

    @Override
    protected boolean isAvailable() {
        return true;
    }

    /** After those of HTTP/2. */
    @Override
    protected int priority() {
        return 1;
    }

    @Override
    protected ServerBuilder<?> builderForPort(int port) {
        return RdmaServerBuilder.forPort(port);
    }

    /** A builder, or the reason why there is none: credentials for TLS. */
    @Override
    protected NewServerBuilderResult newServerBuilderForPort(int port, ServerCredentials credentials) {
        return credentials instanceof InsecureServerCredentials
                ? NewServerBuilderResult.serverBuilder(builderForPort(port))
                : NewServerBuilderResult.error("calls over RDMA are not encrypted: use InsecureServerCredentials");
    }
}
