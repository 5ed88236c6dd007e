/**
 * Meters of Micrometer for the connections of this process. Micrometer is an optional dependency: a program that has it
 * binds {@link org.rdmasockets.micrometer.RdmaSocketsMetrics} to its registry.
 *
 * <p>Knows the public counters and the management bean, and nothing below them. A registry asks when it likes, on
 * threads of its own; each question adds up numbers of connections, and waits for nothing.
 */
package org.rdmasockets.micrometer;
