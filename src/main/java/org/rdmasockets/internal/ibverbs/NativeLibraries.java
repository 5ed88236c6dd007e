package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.util.Optional;

/**
 * Looks for {@code libibverbs.so.1} and {@code librdmacm.so.1} without failing where they are missing. Everything else
 * of this package may only be touched when {@link #problem()} is empty: the generated classes need both the libraries
 * and native access to initialise.
 */
@SuppressWarnings("restricted")
final class NativeLibraries {
    static final String IBVERBS = "libibverbs.so.1";
    static final String RDMACM = "librdmacm.so.1";

    /** Whether both libraries were found. They stay loaded for ever: their tables outlive any of our objects. */
    private static volatile boolean loaded;

    private NativeLibraries() {}

    /** Loads the libraries if they are not loaded yet; empty if they are there, else why not, with the remedy. */
    static Optional<String> problem() {
        if (loaded) {
            return Optional.empty();
        }
        try {
            if (!load(IBVERBS)) {
                return Optional.of(missing(IBVERBS, "libibverbs1 ibverbs-providers", "libibverbs"));
            }
            if (!load(RDMACM)) {
                return Optional.of(missing(RDMACM, "librdmacm1", "librdmacm"));
            }
            loaded = true;
            return Optional.empty();
        } catch (IllegalCallerException e) {
            return Optional.of("Native access is denied to this library: start java with --enable-native-access="
                    + moduleName());
        }
    }

    /** The name that {@code --enable-native-access} needs. */
    private static String moduleName() {
        Module module = NativeLibraries.class.getModule();
        return module.isNamed() ? module.getName() : "ALL-UNNAMED";
    }

    /** Whether the library is there. */
    private static boolean load(String library) {
        try {
            SymbolLookup.libraryLookup(library, Arena.global());
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static String missing(String library, String debianPackages, String fedoraPackage) {
        return "The library " + library + " is not installed: apt install " + debianPackages
                + " (Debian, Ubuntu) or dnf install " + fedoraPackage + " (Fedora, RHEL)";
    }
}
