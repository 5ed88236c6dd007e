/**
 * The part of verbs that a provider implements and no program needs: what the library's own sockets and endpoints ask
 * of the devices that they go over.
 *
 * <p>{@link org.rdmasockets.verbs.spi.TransportProvider} is a provider with answers to those questions; the layers
 * above verbs ask while a connection is set up, and never on the way of data.
 * {@link org.rdmasockets.verbs.spi.SendHints} go with the requests of a byte stream. A program of verbs names
 * {@code org.rdmasockets.verbs} alone.
 *
 * <p>Threads: as in {@code org.rdmasockets.verbs}, any thread may call anything at any time. This package depends on
 * {@code org.rdmasockets.verbs} and {@code java.base}.
 */
package org.rdmasockets.verbs.spi;
