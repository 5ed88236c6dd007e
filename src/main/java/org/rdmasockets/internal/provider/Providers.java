package org.rdmasockets.internal.provider;

import java.net.InetSocketAddress;
import java.util.List;
import org.rdmasockets.internal.ibverbs.IbverbsProvider;
import org.rdmasockets.internal.sharedmemory.SharedMemoryProvider;
import org.rdmasockets.verbs.VerbsProvider;

/** The providers of verbs, each one object for the whole process. */
public final class Providers {
    /** In the order of preference; replaced by tests only, and never changed. */
    private static volatile List<VerbsProvider> all = List.of(new SharedMemoryProvider(), new IbverbsProvider());

    private Providers() {}

    /** Verbs over libibverbs and librdmacm, also if these are missing: ask {@link VerbsProvider#unavailability()}. */
    public static VerbsProvider ibverbs() {
        return all.getLast();
    }

    /**
     * Verbs over memory that processes of this host share. The provider is there even where that cannot be had: ask it
     * for its {@link VerbsProvider#unavailability()}.
     */
    public static VerbsProvider sharedMemory() {
        return all.getFirst();
    }

    /**
     * Whether shared memory leads, or seems to, to an address that is not of this host: to a process in another network
     * namespace. False unless the settings name a directory for that.
     */
    public static boolean sharedMemoryLeadsTo(InetSocketAddress elsewhere) {
        return SharedMemoryProvider.leadsElsewhere(elsewhere);
    }

    /** For tests: from now on, sockets use this provider in the place of its namesake, which is given. */
    static synchronized VerbsProvider replace(VerbsProvider instead) {
        VerbsProvider before = named(instead.name());
        all = all.stream().map(p -> p == before ? instead : p).toList();
        return before;
    }

    /** All providers, available or not, in the order in which the choice of a transport prefers them. */
    public static List<VerbsProvider> all() {
        return all;
    }

    /** Finds a provider by the name that settings use, such as {@code ibverbs}. */
    public static VerbsProvider named(String name) {
        for (VerbsProvider provider : all()) {
            if (provider.name().equals(name)) {
                return provider;
            }
        }
        throw new IllegalArgumentException("no verbs provider is named " + name + "; there are "
                + all().stream().map(VerbsProvider::name).toList());
    }
}
