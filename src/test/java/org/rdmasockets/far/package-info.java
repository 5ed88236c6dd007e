/**
 * Things of another JVM, used from this one: a contract written for one process runs between two.
 *
 * <p>{@code OtherJvm} starts a process, or finds one on another host, and asks it; what is asked is a lambda, which
 * travels with what it captures and is run there on the thing in question ({@code Far}). A {@code FarSocket} forwards
 * everything that can be asked of a {@code java.net.Socket} in that way: results, exceptions and addresses come back as
 * they are.
 *
 * <p>Each call runs in a thread of its own there ({@code Servant}), of the same kind as the caller's, virtual or
 * platform. An interrupt of the caller is passed on to that thread and stays there, so that the interrupt status
 * afterwards is what the thread there made of it. Whether a caller is blocked is asked of that thread too
 * ({@code Blocked}). A thing that is forgotten here is forgotten there.
 *
 * <p>The way between the two is plain TCP: nothing of what is tried carries its own trial.
 */
package org.rdmasockets.far;
