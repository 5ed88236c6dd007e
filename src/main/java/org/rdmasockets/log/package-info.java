/**
 * Log lines: {@link org.rdmasockets.log.Log} writes them through SLF4J, without a wait for its provider in a first
 * connect. {@link org.rdmasockets.log.LimitedLog} writes so many and counts the rest: for every line above DEBUG that a
 * peer or a stranger can bring about as often as it likes.
 *
 * <p>Threads: any.
 */
package org.rdmasockets.log;
