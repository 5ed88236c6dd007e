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
    /** Both, null until they are found. They stay loaded for ever: their tables outlive any of our objects. */
    private static volatile SymbolLookup libraries;

    private NativeLibraries() {}

    /** Loads the libraries if they are not loaded yet; empty if they are there, else why not, with the remedy. */
    static Optional<String> problem() {
        try {
            if (libraries == null) {
                libraries = load("libibverbs.so.1", "libibverbs1 ibverbs-providers", "libibverbs")
                        .or(load("librdmacm.so.1", "librdmacm1", "librdmacm"));
            }
            return Optional.empty();
        } catch (IllegalCallerException e) {
            return Optional.of(SharedMemoryAvailability.nativeAccessDenied());
        } catch (IllegalArgumentException e) {
            return Optional.of(e.getMessage());
        }
    }

    /** Throws with the remedy if the library is not there. */
    private static SymbolLookup load(String library, String debianPackages, String fedoraPackage) {
        try {
            return SymbolLookup.libraryLookup(library, Arena.global());
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("The library " + library + " is not installed: apt install "
                    + debianPackages + " (Debian, Ubuntu) or dnf install " + fedoraPackage + " (Fedora, RHEL)", e);
        }
    }

    /** A function of the libraries, null if they have none of that name. */
    static MemorySegment find(String symbol) {
        SymbolLookup both = libraries;
        return both == null ? null : both.find(symbol).orElse(null);
    }
}
