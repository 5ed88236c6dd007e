/**
 * RdmaSocket beside its peers, measured between two JVMs: {@code src/jmh/run}.
 *
 * <p>Read from {@link org.rdmasockets.benchmark.Benchmarks} down. A {@link org.rdmasockets.benchmark.Question} is one
 * class and one number that matters; a {@link org.rdmasockets.benchmark.Contender} is one way to carry the bytes,
 * behind a {@link org.rdmasockets.benchmark.Peer}, so all run the very same program. For each fork of a contender
 * {@link org.rdmasockets.benchmark.Client} is started in a new JVM, starts {@link org.rdmasockets.benchmark.Server} in
 * another one, and asks its question. {@link org.rdmasockets.benchmark.Report} writes what came out.
 */
package org.rdmasockets.benchmark;
