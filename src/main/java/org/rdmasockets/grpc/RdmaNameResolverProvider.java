package org.rdmasockets.grpc;

import io.grpc.NameResolver;
import io.grpc.NameResolverProvider;
import io.grpc.NameResolverRegistry;
import java.net.SocketAddress;
import java.net.URI;
import java.util.Collection;
import java.util.List;

/**
 * Tells gRPC that targets of the scheme {@code rdma} are for {@link RdmaChannelProvider} and no other transport. gRPC
 * finds it by itself.
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // gRPC's types are for those who have gRPC
public final class RdmaNameResolverProvider extends NameResolverProvider {
    private static final String SCHEME = "rdma";

    /** For gRPC, which loads it as a service. */
    public RdmaNameResolverProvider() {}

    /** The addresses of such targets, in gRPC's choice of a transport; no object is of this class. */
    abstract static class RdmaPlace extends SocketAddress {
        private static final long serialVersionUID = 1L;
    }

    @Override
    protected boolean isAvailable() {
        return true;
    }

    /** The least: the scheme of the first one is that of targets without a scheme, which are names of the DNS. */
    @Override
    protected int priority() {
        return 0;
    }

    @Override
    public String getDefaultScheme() {
        return SCHEME;
    }

    @Override
    public Collection<Class<? extends SocketAddress>> getProducedSocketAddressTypes() {
        return List.of(RdmaPlace.class);
    }

    /** gRPC's resolver of names of the DNS; null for other targets, and without one. */
    @Override
    public NameResolver newNameResolver(URI target, NameResolver.Args args) {
        NameResolverProvider names = NameResolverRegistry.getDefaultRegistry().getProviderForScheme("dns");
        return names == null || !SCHEME.equals(target.getScheme()) ? null
                : names.newNameResolver(URI.create("dns:///" + target.getPath().replaceFirst("^/", "")), args);
    }
}
