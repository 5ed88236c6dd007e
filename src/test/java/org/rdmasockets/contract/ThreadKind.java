package org.rdmasockets.contract;

/** The kinds of threads that may block on a socket. */
public enum ThreadKind {
    /** A thread of the operating system; an interrupt does nothing to its socket operations. */
    PLATFORM,
    /** A virtual thread; an interrupt closes the socket that it is blocked on. */
    VIRTUAL;

    Thread start(String name, Runnable body) {
        return switch (this) {
            case PLATFORM -> Thread.ofPlatform().daemon().name(name).start(body);
            case VIRTUAL -> Thread.ofVirtual().name(name).start(body);
        };
    }
}
