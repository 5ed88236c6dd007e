package org.rdmasockets.grpc;

import io.grpc.InsecureServerCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.ServerBuilder;
import io.grpc.Status;
import io.grpc.okhttp.OkHttpChannelBuilder;
import io.grpc.okhttp.OkHttpServerBuilder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.EnumSet;
import java.util.Set;

/** Over gRPC's own OkHttp transport and TCP, which proves the suite. */
class InteropOverOkHttpTest extends InteropContract {
    @Override
    ServerBuilder<?> server() {
        return OkHttpServerBuilder.forPort(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                InsecureServerCredentials.create());
    }

    @Override
    ManagedChannelBuilder<?> channel(int port) {
        return OkHttpChannelBuilder.forAddress("127.0.0.1", port).usePlaintext();
    }

    /** They are proved by gRPC. */
    @Override
    boolean runsCasesOfGrpc() {
        return false;
    }

    /** The server resets the stream, and what the client hears first depends on its place. */
    @Override
    Set<Status.Code> tooLong() {
        return EnumSet.of(Status.Code.RESOURCE_EXHAUSTED, Status.Code.INTERNAL, Status.Code.CANCELLED);
    }
}
