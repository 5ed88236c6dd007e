package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.Optional;
import org.rdmasockets.internal.ffi.SharedMemoryAvailability;

/**
 * Looks for {@code libibverbs.so.1} and {@code librdmacm.so.1} without failing where they are missing. Everything else
 * of this package may only be touched when {@link #problem()} is empty: the generated classes need native access to
 * initialise, and each call needs the libraries.
 */
@SuppressWarnings("restricted")
final class NativeLibraries {
    private static final String IBVERBS = "libibverbs.so.1";
    private static final String RDMACM = "librdmacm.so.1";

    /** The libraries, null until they are found. They stay loaded for ever: their tables outlive any of our objects. */
    private static volatile SymbolLookup verbs;
    private static volatile SymbolLookup connections;

    private NativeLibraries() {}

    /** Loads the libraries if they are not loaded yet; empty if they are there, else why not, with the remedy. */
    static Optional<String> problem() {
        try {
            SymbolLookup first = verbs == null ? load(IBVERBS) : verbs;
            if (first == null) {
                return Optional.of(missing(IBVERBS, "libibverbs1 ibverbs-providers", "libibverbs"));
            }
            SymbolLookup second = connections == null ? load(RDMACM) : connections;
            if (second == null) {
                return Optional.of(missing(RDMACM, "librdmacm1", "librdmacm"));
            }
            verbs = first;
            connections = second;
            return Optional.empty();
        } catch (IllegalCallerException e) {
            return Optional.of(SharedMemoryAvailability.nativeAccessDenied());
        }
    }

    /** Null if the library is not there. */
    private static SymbolLookup load(String library) {
        try {
            return SymbolLookup.libraryLookup(library, Arena.global());
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /** A function of the libraries, null if they have none of that name. */
    static MemorySegment find(String symbol) {
        SymbolLookup library = symbol.startsWith("rdma_") ? connections : verbs;
        return library == null ? null : library.find(symbol).orElse(null);
    }

    private static String missing(String library, String debianPackages, String fedoraPackage) {
        return "The library " + library + " is not installed: apt install " + debianPackages
                + " (Debian, Ubuntu) or dnf install " + fedoraPackage + " (Fedora, RHEL)";
    }
}
