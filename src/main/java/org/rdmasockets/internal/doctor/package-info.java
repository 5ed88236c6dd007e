/**
 * The command of an operator: {@code java -jar rdma-sockets-VERSION-agent.jar doctor [HOST:PORT]}.
 *
 * <p>{@link org.rdmasockets.internal.doctor.Doctor} looks at this machine as a process of the library would, and tries
 * the transports that lead to an address. It listens nowhere. Above all other packages; only the
 * agent's jar starts it.
 */
package org.rdmasockets.internal.doctor;
