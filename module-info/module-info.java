/**
 * Sockets over RDMA: what {@code java.net.Socket} is to TCP, {@code RdmaSocket} is to RDMA.
 *
 * <p>The native libraries libibverbs and librdmacm are called directly, so the application grants
 * {@code --enable-native-access=org.rdmasockets} ({@code ALL-UNNAMED} on the class path).
 */
@SuppressWarnings("requires-automatic")
module org.rdmasockets {
    exports org.rdmasockets;
    exports org.rdmasockets.endpoint;
    exports org.rdmasockets.grpc;
    exports org.rdmasockets.micrometer;
    exports org.rdmasockets.rpc;
    exports org.rdmasockets.verbs;
    exports org.rdmasockets.verbs.spi;

    requires org.jctools.core.jdk11;
    requires org.slf4j;
    // gRPC's API, for org.rdmasockets.grpc alone. Not transitive: a module that does without gRPC would not compile.
    // A module that uses gRPC's stubs requires io.grpc itself.
    requires static io.grpc;
    // For channels of gRPC's core: name resolvers, balancing, service configurations. Others need grpc-api alone.
    requires static io.grpc.internal;
    requires static com.google.common;
    // For the agent, which is a jar of its own.
    requires static java.instrument;
    // Lines of the log where it is the application's logging; without this module it is not.
    requires static java.logging;
    // The management bean; without this module there is none.
    requires static java.management;
    // Micrometer, for org.rdmasockets.micrometer alone; who binds to its registries has it already.
    requires static micrometer.core;
    // Events for the Flight Recorder; without this module there are none.
    requires static jdk.jfr;
    // The queue length of the virtual thread scheduler; without this module waiting threads spin less.
    requires static jdk.management;
    // The names of the keep-alive options; without this module no code can name them.
    requires static jdk.net;
    // The doctor asks other processes; without this module it does not.
    requires static jdk.attach;

    // gRPC finds these by itself.
    provides io.grpc.ManagedChannelProvider with org.rdmasockets.grpc.RdmaChannelProvider;
    provides io.grpc.NameResolverProvider with org.rdmasockets.grpc.RdmaNameResolverProvider;
    provides io.grpc.ServerProvider with org.rdmasockets.grpc.RdmaServerProvider;
}
