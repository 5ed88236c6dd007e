package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.rdmasockets.internal.ibverbs.generated.rdma_conn_param;
import org.rdmasockets.verbs.ConnectionParameters;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/** {@link ConnectionParameters} as {@code rdma_conn_param} and back. */
final class ConnectionParameterCodec {
    /** {@code private_data_len} is one byte. Transports allow less, and the kernel refuses what they do not. */
    private static final int MAX_PRIVATE_DATA_BYTES = 255;

    private ConnectionParameterCodec() {}

    /**
     * Writes an {@code rdma_conn_param} for a C function about to be called; throws if the private data is too long.
     */
    static MemorySegment write(ControlCall call, ConnectionParameters parameters, Arena arena) throws VerbsException {
        byte[] data = parameters.privateData();
        MemorySegment param = rdma_conn_param.allocate(arena);
        rdma_conn_param.private_data(param, privateData(call, data, arena));
        rdma_conn_param.private_data_len(param, (byte) data.length);
        rdma_conn_param.responder_resources(param, (byte) parameters.responderResources());
        rdma_conn_param.initiator_depth(param, (byte) parameters.initiatorDepth());
        rdma_conn_param.flow_control(param, (byte) 1);
        rdma_conn_param.retry_count(param, (byte) parameters.retryCount());
        rdma_conn_param.rnr_retry_count(param, (byte) parameters.receiverNotReadyRetryCount());
        return param;
    }

    /** Writes private data for a C function about to be called, NULL if there is none; throws if there is too much. */
    static MemorySegment privateData(ControlCall call, byte[] data, Arena arena) throws VerbsException {
        if (data.length > MAX_PRIVATE_DATA_BYTES) {
            throw new VerbsException(call.name, Errno.EINVAL.number(), "privateDataBytes=" + data.length,
                    "private data has at most " + MAX_PRIVATE_DATA_BYTES + " bytes");
        }
        return data.length == 0 ? MemorySegment.NULL : arena.allocateFrom(ValueLayout.JAVA_BYTE, data);
    }

    /** Reads parameters of an event that is not yet acknowledged. */
    static ConnectionParameters read(MemorySegment param) {
        return new ConnectionParameters(privateData(param),
                Byte.toUnsignedInt(rdma_conn_param.responder_resources(param)),
                Byte.toUnsignedInt(rdma_conn_param.initiator_depth(param)),
                Byte.toUnsignedInt(rdma_conn_param.retry_count(param)),
                Byte.toUnsignedInt(rdma_conn_param.rnr_retry_count(param)));
    }

    /** The private data of an event that is not yet acknowledged, never more than its length field says. */
    static byte[] privateData(MemorySegment param) {
        MemorySegment data = rdma_conn_param.private_data(param);
        int length = Byte.toUnsignedInt(rdma_conn_param.private_data_len(param));
        return data.address() == 0 ? new byte[0] : data.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
    }
}
