package org.rdmasockets.internal.ffi;

import java.util.ArrayList;
import java.util.List;
import org.rdmasockets.verbs.VerbsException;

/** Prints why shared memory is unavailable, with "exhaust" also when there are no descriptors left. */
public final class AvailabilityMain {
    private AvailabilityMain() {
    }

    /** Runs. */
    public static void main(String[] arguments) {
        if (arguments.length == 0) {
            System.out.println(SharedMemoryAvailability.problem().orElse("available"));
            return;
        }
        loadClasses();
        List<PacketSocket> sockets = new ArrayList<>();
        String problem = "no limit";
        try {
            while (true) {
                sockets.add(PacketSocket.unnamed());
            }
        } catch (VerbsException e) {
            problem = SharedMemoryAvailability.problem().orElse("available");
        } finally {
            sockets.forEach(PacketSocket::close);
        }
        System.out.println(problem);
        System.out.println("afterwards: " + SharedMemoryAvailability.problem().orElse("available"));
    }

    /** Loads what is needed later: the JVM cannot read class files without descriptors. */
    private static void loadClasses() {
        SharedMemoryAvailability.platformProblem("none", "none");
        UserNamespace.problem();
        try {
            SealedMemory.create(4096).close();
            PacketSocket.connect("nobody listens here").close();
        } catch (VerbsException e) {
            System.out.println("as expected: " + e.getMessage());
        }
    }
}
