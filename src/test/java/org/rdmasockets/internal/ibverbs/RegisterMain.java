package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.util.Set;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.AccessFlag;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.ProtectionDomain;
import org.rdmasockets.verbs.VerbsException;

/** Registers as many bytes as the second argument says on the device that the first one names, then 4 KiB. */
final class RegisterMain {
    private RegisterMain() {
    }

    /** Runs. */
    public static void main(String[] arguments) throws VerbsException {
        Device device = Providers.ibverbs().open(arguments[0]);
        try (ProtectionDomain domain = device.allocateProtectionDomain()) {
            register(domain, Integer.parseInt(arguments[1]));
            register(domain, 4096);
        }
    }

    private static void register(ProtectionDomain domain, int bytes) {
        try {
            domain.register(Arena.ofAuto().allocate(bytes, 4096), Set.of(AccessFlag.LOCAL_WRITE)).close();
            System.out.println("registered " + bytes);
        } catch (VerbsException e) {
            System.out.println(e.getMessage());
        }
    }
}
