package org.rdmasockets.internal.rpc.call;

/** A message is longer than the peer takes; nothing was sent. */
public final class MessageTooLong extends RuntimeException {
    private static final long serialVersionUID = 1L;

    MessageTooLong(long bytes, long most) {
        super("a message of " + bytes + " bytes: the peer takes at most " + most
                + "; raise maxMessage there, or send it as a stream");
    }
}
