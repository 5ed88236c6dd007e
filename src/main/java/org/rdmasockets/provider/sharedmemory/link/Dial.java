package org.rdmasockets.provider.sharedmemory.link;

/** An attempt to reach a listener's process. */
public interface Dial extends AutoCloseable {
    /** Gives the attempt up; its handler is not called any more after this returned, unless it is in a call now. */
    @Override
    void close();
}
