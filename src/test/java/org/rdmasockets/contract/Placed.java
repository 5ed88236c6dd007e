package org.rdmasockets.contract;

/** A test that wants to know where it runs. */
@FunctionalInterface
public interface Placed {
    /**
     * Tells, before anything else is called.
     *
     * @param where the place and its sockets
     */
    void runsIn(Place.Entered where);
}
