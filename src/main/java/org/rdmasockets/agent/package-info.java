/**
 * Makes the jar of this library an agent: {@code -javaagent:rdma-sockets.jar[=rules]} replaces the sockets of an
 * unmodified program before its {@code main} begins.
 *
 * <p>{@link org.rdmasockets.agent.Agent} runs once, in the thread that will run {@code main}, when nothing of the
 * program has run yet. So it opens no socket, reads no setting and does not log: a program configures its logging in
 * {@code main}, and it may even log through sockets. All that waits until the first socket is used.
 */
package org.rdmasockets.agent;
