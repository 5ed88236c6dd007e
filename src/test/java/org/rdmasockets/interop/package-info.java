/**
 * Proof against foreign programs: rstream and rcopy of rdma-core, and Python under librspreload. Each suite runs on the
 * device of {@link org.rdmasockets.interop.TestBed}, or over TCP to prove the suite itself.
 */
package org.rdmasockets.interop;
