/**
 * Suites of what every implementation of a thing must do: every verbs provider, and every family of sockets.
 *
 * <p>A contract is a class of tests that runs in several places, which {@code RunIn} names; a {@code Place} has a
 * family of sockets, a {@code SocketFixture}. {@code SocketContracts} gathers what {@code java.net} promises, contract
 * by contract (connecting, streams, closing and so on). The JDK's own TCP sockets keep them too, which proves them.
 * Where a family differs, its fixture says why, the reason is printed, and the trial is skipped: nothing is weakened to
 * fit a device.
 *
 * <p>Trials that wait for a thread to block look at the thread ({@code Call.awaitBlocked}); they do not sleep and hope.
 */
package org.rdmasockets.contract;
