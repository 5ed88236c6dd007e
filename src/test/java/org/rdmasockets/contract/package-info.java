/**
 * Suites of what every implementation of a thing must do: every verbs provider, and every family of sockets.
 *
 * <p>{@code SocketContract} gathers what {@code java.net} promises of sockets by themes (connecting, streams, closing
 * and so on); a family runs them by extending it with a {@code SocketFixture}. The JDK's own TCP sockets run it too,
 * which proves the suite. Where a family differs, its fixture says why, the reason is printed, and the trial is
 * skipped: nothing is weakened to fit a device.
 *
 * <p>Trials that wait for a thread to block look at the thread ({@code Call.awaitBlocked}); they do not sleep and hope.
 */
package org.rdmasockets.contract;
