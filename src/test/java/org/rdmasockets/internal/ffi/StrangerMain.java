package org.rdmasockets.internal.ffi;

import java.util.concurrent.locks.LockSupport;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.VerbsException;

/**
 * A process of another user: {@code listen} and a name, or {@code connect}, a path and how often. Needs only classes of
 * this package.
 */
public final class StrangerMain {
    private static final int AGAIN = Errno.EAGAIN.number();

    private StrangerMain() {
    }

    /** Runs until the other side hangs up, or this is killed. */
    public static void main(String[] arguments) throws VerbsException {
        boolean listens = arguments[0].equals("listen");
        PacketSocket socket;
        try {
            for (int i = 1; arguments.length > 2 && i < Integer.parseInt(arguments[2]); i++) {
                PacketSocket.connect(arguments[1]).close();
            }
            socket = listens ? SocketDirectory.own().listen(arguments[1], 8).socket()
                    : PacketSocket.connect(arguments[1]);
        } catch (VerbsException e) {
            System.out.println(e.errno());
            return;
        }
        System.out.println("ready as user " + PacketSocket.ownUser());
        PacketBuffer buffer = new PacketBuffer();
        while (listens || socket.receive(buffer) == -AGAIN) {
            LockSupport.parkNanos(1_000_000);
        }
        System.out.println("received " + buffer.length());
    }
}
