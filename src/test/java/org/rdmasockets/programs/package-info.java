/**
 * Programs as people run them, each in its own process or processes: unmodified programs of others, and the examples
 * that are built on libraries of others. Their output must be the same as over plain TCP.
 *
 * <p>{@link org.rdmasockets.programs.Place} says where they meet: on this host in shared memory, or, in the guest, on
 * an RDMA device; {@code ProgramsOnDeviceTest} repeats all tests there.
 */
package org.rdmasockets.programs;
