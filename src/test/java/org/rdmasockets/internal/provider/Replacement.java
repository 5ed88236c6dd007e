package org.rdmasockets.internal.provider;

import org.rdmasockets.verbs.VerbsProvider;

/** Puts a provider in the place of the process's own of that name, until it is closed. */
public final class Replacement implements AutoCloseable {
    private final VerbsProvider before;

    /**
     * Replaces.
     *
     * @param instead the provider that sockets use from now on
     */
    public Replacement(VerbsProvider instead) {
        before = Providers.replace(instead);
    }

    @Override
    public void close() {
        Providers.replace(before);
    }
}
