package org.rdmasockets.internal.ibverbs;

import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/** Prints why the provider is unavailable, and what its calls answer. */
final class AvailabilityMain {
    private AvailabilityMain() {
    }

    /** Runs; arguments are ignored. */
    public static void main(String[] arguments) {
        VerbsProvider provider = Providers.ibverbs();
        System.out.println(provider.unavailability().orElse("available"));
        try {
            provider.createConnectionManager().close();
            System.out.println("made a connection manager");
        } catch (VerbsException e) {
            System.out.println(e.getMessage());
        }
    }
}
