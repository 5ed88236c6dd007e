/**
 * Links between processes of one user and host: memory that both see, and nothing that either could break for the
 * other.
 *
 * <p>{@link org.rdmasockets.provider.sharedmemory.link.LinkHub} is the way in: it listens and dials, and gives out a
 * {@link org.rdmasockets.provider.sharedmemory.link.Link} per peer process. What the entries of a link mean is not
 * known here.
 */
package org.rdmasockets.provider.sharedmemory.link;
