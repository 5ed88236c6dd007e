package org.rdmasockets.verbs;

import java.util.Arrays;

/**
 * The values that the two sides tell each other when they connect ({@code struct rdma_conn_param}).
 *
 * @param privateData bytes for the peer: at most 56 with a request, 196 with an acceptance and 148 with a rejection on
 *         InfiniBand and RoCE; received data is padded with zeros on those; copied in and out
 * @param responderResources reads and atomics that this side serves at once
 * @param initiatorDepth reads and atomics that this side has outstanding
 * @param retryCount retries without an answer, 0 to 7, decided by the connecting side; soft-RoCE takes 7 as for ever
 * @param receiverNotReadyRetryCount retries of the <em>peer</em> while this side has no receive posted, 7 for ever
 * @since 0.1
 */
public record ConnectionParameters(byte[] privateData, int responderResources, int initiatorDepth, int retryCount,
        int receiverNotReadyRetryCount) {
    /**
     * Copies the private data.
     */
    public ConnectionParameters {
        privateData = privateData.clone();
    }

    /** {@return a copy of the bytes for the peer} */
    @Override
    public byte[] privateData() {
        return privateData.clone();
    }

    /** {@return how many bytes the private data has} */
    public int privateDataBytes() {
        return privateData.length;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ConnectionParameters that && Arrays.equals(privateData, that.privateData)
                && responderResources == that.responderResources && initiatorDepth == that.initiatorDepth
                && retryCount == that.retryCount && receiverNotReadyRetryCount == that.receiverNotReadyRetryCount;
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(privateData);
    }

    @Override
    public String toString() {
        return "privateData=" + privateData.length + " bytes, responderResources=" + responderResources
                + ", initiatorDepth=" + initiatorDepth + ", retryCount=" + retryCount
                + ", receiverNotReadyRetryCount=" + receiverNotReadyRetryCount;
    }
}
