package org.rdmasockets.grpc;

import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.ManagedChannelProvider;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Collection;
import java.util.List;

/**
 * Lets {@code Grpc.newChannelBuilder("rdma:///HOST:PORT", InsecureChannelCredentials.create())} make channels by
 * {@link RdmaChannelBuilder}. gRPC finds it by itself. Other transports come first for all other targets.
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // gRPC's types are for those who have gRPC
public final class RdmaChannelProvider extends ManagedChannelProvider {
    /** For gRPC, which loads it as a service. */
    public RdmaChannelProvider() {}

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
    protected ManagedChannelBuilder<?> builderForAddress(String host, int port) {
        return RdmaChannelBuilder.forAddress(host, port);
    }

    @Override
    protected ManagedChannelBuilder<?> builderForTarget(String target) {
        return RdmaChannelBuilder.forTarget(target);
    }

    /** A builder, or the reason why there is none: credentials for TLS, or a target that is malformed. */
    @Override
    protected NewChannelBuilderResult newChannelBuilder(String target, ChannelCredentials credentials) {
        if (!(credentials instanceof InsecureChannelCredentials)) {
            return NewChannelBuilderResult.error("calls over RDMA are not encrypted: use InsecureChannelCredentials,"
                    + " and credentials of calls, or another scheme than rdma");
        }
        try {
            return NewChannelBuilderResult.channelBuilder(builderForTarget(target));
        } catch (IllegalArgumentException e) {
            return NewChannelBuilderResult.error(e.getMessage());
        }
    }

    @Override
    protected Collection<Class<? extends SocketAddress>> getSupportedSocketAddressTypes() {
        return List.of(RdmaNameResolverProvider.RdmaPlace.class, InetSocketAddress.class);
    }
}
