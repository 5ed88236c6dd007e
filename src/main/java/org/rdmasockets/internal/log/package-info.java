/**
 * Log lines. {@link org.rdmasockets.internal.log.Log} turns each into a text and queues it; the daemon thread
 * {@code rdma-log} alone calls SLF4J, and so the application. {@link org.rdmasockets.internal.log.LimitedLog} writes so
 * many lines and counts the rest: for every line above DEBUG that a peer or a stranger can bring about as often as it
 * likes. {@link org.rdmasockets.internal.log.Occurrences} finds the first line of a kind, which is worth an INFO.
 * {@link org.rdmasockets.internal.log.LogRecords} writes by {@code java.util.logging}.
 *
 * <p>Threads: any, with any lock. No call waits.
 */
package org.rdmasockets.internal.log;
