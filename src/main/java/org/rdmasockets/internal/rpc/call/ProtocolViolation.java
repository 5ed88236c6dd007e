package org.rdmasockets.internal.rpc.call;

import java.io.IOException;

/** The peer has broken a rule of the protocol of calls: its connection ends. */
public final class ProtocolViolation extends IOException {
    private static final long serialVersionUID = 1L;

    ProtocolViolation(String message) {
        super("the peer has broken the protocol of calls: " + message);
    }
}
