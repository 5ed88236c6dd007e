/**
 * Proof that every fault ends in the exception that java.net leads one to expect, in time, and that the process goes on
 * serving others: dead peers, hosts that do not answer, hostile peers, lost links and lost devices. Also the soak.
 */
package org.rdmasockets.fault;
