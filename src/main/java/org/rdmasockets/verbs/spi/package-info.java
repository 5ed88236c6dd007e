/**
 * The part of verbs that a provider implements and no program needs: what the library's own sockets and endpoints ask
 * of the devices that they go over.
 *
 * <p>{@link org.rdmasockets.verbs.spi.TransportProvider} is a provider with answers to those questions. The layers
 * above verbs ask it while a connection is set up, and never on the way of data. A program of verbs names
 * {@code org.rdmasockets.verbs} alone.
 *
 * <p>Threads: as in {@code org.rdmasockets.verbs}, any thread may call anything at any time. This package depends on
 * {@code org.rdmasockets.verbs} and {@code java.base}.
 */
package org.rdmasockets.verbs.spi;
