package org.rdmasockets.internal.rpc.call;

/** The status codes that this package sets itself. The numbers are gRPC's; others pass through. */
public final class Code {
    /** All went well. */
    public static final int OK = 0;
    /** The caller has given up. */
    public static final int CANCELLED = 1;
    /** The method failed and did not say how. */
    public static final int UNKNOWN = 2;
    /** The call's deadline has passed. */
    public static final int DEADLINE_EXCEEDED = 4;
    /** A limit was reached. */
    public static final int RESOURCE_EXHAUSTED = 8;
    /** The server has no such method. */
    public static final int UNIMPLEMENTED = 12;
    /** A rule of the protocol was broken. */
    public static final int INTERNAL = 13;
    /** The server cannot be reached, or leaves. */
    public static final int UNAVAILABLE = 14;
    /** How the text of an end begins that either side has made for want of time: others are the application's. */
    public static final String TOO_LATE = "the call's deadline has passed";
    /** Codes are smaller than this. */
    public static final int COUNT = 17;

    private Code() {}
}
