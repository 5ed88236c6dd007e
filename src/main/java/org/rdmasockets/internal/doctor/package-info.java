/**
 * The commands of an operator: {@code java -jar rdma-sockets-VERSION-agent.jar doctor [HOST:PORT]}, {@code devices},
 * {@code connections [PID...]} and {@code ping HOST PORT}.
 *
 * <p>{@link org.rdmasockets.internal.doctor.Doctor} looks at this machine as a process of the library would
 * ({@code Machine}), and tries the transports that lead to an address ({@code Route}). It listens nowhere but for
 * {@code ping --echo}. Above all other packages; only the agent's jar starts it.
 *
 * <p>{@code LibraryProcesses} finds the processes that use the library by a thread that each one has, and asks them
 * by the JVM's own way in. So a process that is never asked has neither a socket nor a thread nor a class for it; one
 * whose connections go over a device or TCP alone is asked like any other; the JVM and the kernel let in the same user
 * alone; and several copies of the library in a process all answer. A question over the sockets of shared memory would
 * reach processes that listen there, and no others; one over JMX opens a port in the process for good.
 */
package org.rdmasockets.internal.doctor;
