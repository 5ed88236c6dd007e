package org.rdmasockets.internal.rpc.call;

/** The status codes that this package sets itself. The numbers are gRPC's; others pass through. */
public final class Code {
    /** All went well. */
    public static final int OK = 0;
    /** The caller has given up. */
    public static final int CANCELLED = 1;
    /** The method failed and did not say how. */
    public static final int UNKNOWN = 2;
    /** The time of the call was over. */
    public static final int DEADLINE_EXCEEDED = 4;
    /** A limit was reached. */
    public static final int RESOURCE_EXHAUSTED = 8;
    /** The server has no such method. */
    public static final int UNIMPLEMENTED = 12;
    /** A rule of the protocol was broken. */
    public static final int INTERNAL = 13;
    /** The server cannot be reached, or leaves. */
    public static final int UNAVAILABLE = 14;
    /** Codes are smaller than this. */
    public static final int COUNT = 17;

    private Code() {}
}
