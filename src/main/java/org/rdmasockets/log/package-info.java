/**
 * Log lines that others can cause: {@link org.rdmasockets.log.LimitedLog} writes so many and counts the rest. Every
 * line above DEBUG that a peer or a stranger can bring about, as often as it likes, goes through here.
 *
 * <p>Threads: any. Knows nothing but SLF4J.
 */
package org.rdmasockets.log;
