/**
 * The agent: {@code -javaagent:rdma-sockets-agent.jar[=rules]} replaces the sockets of an unmodified program before its
 * {@code main} begins.
 *
 * <p>The agent's jar brings an application nothing that it may bring itself. On the class path it has
 * {@link org.rdmasockets.internal.agent.Agent}, which every JVM since Java 8 can read, and
 * {@link org.rdmasockets.internal.agent.IsolatedLibrary}, which loads all else: the library, JCTools and SLF4J, from a
 * folder of the jar, as one module in a layer of its own. Only that module gets {@code java.net}, and native access. In
 * it {@link org.rdmasockets.internal.agent.Installation} replaces the sockets, and
 * {@link org.rdmasockets.internal.agent.LogProvider} takes what is logged to the application. An application may bring
 * this library as well: its copy is another one, which shares no class with the agent's, and whose socket options the
 * agent's sockets understand by their names.
 *
 * <p>The agent runs once, in the thread that will run {@code main}, when nothing of the program has run yet. So it
 * opens no socket, does not log, and reads settings only to find mistakes in them: a program configures its logging in
 * {@code main}, and it may even log through sockets. All that waits until the first socket is used.
 */
package org.rdmasockets.internal.agent;
