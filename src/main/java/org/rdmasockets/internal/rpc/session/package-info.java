/**
 * Sessions over datagrams: messages in order, once each and unharmed, over packets that are lost, repeated, reordered
 * and damaged. {@code Session} is a state machine without input and output: packets and the time come in, packets go
 * out, and a deadline says when to look again. It knows neither threads, nor waiting, nor the clock. {@code
 * SessionHub} has the socket.
 *
 * <p><b>The wire</b> is {@link org.rdmasockets.internal.rpc.session.Packet}. A client draws 64 random bits as its end's
 * identifier and sends INIT; a server keeps nothing and answers with a cookie, an HMAC over the client's address, its
 * identifier and the time; a client that shows it in OPEN gets OPENED with the server end's identifier. Each packet
 * from then on has both identifiers, so that strangers can neither forge nor end anything. A packet for a session that
 * is not known is answered by RESET with the same identifiers: so a client notices that its server was started anew.
 *
 * <p>Packets are numbered. Each says what has come: all below a number, and which of the 64 after it. A packet is sent
 * again once one has come that was sent three transmissions later, or by a timer of RFC 6298. The receiver says how
 * many more it takes, as a number beyond which nothing may be sent, so that a lost word does no harm. A congestion
 * window halves at a loss, begins anew after a timeout and grows only while it is full, as RFC 9002 has it.
 *
 * <p>Everything is bounded: 64 packets on their way, of 192 KiB together, 64 that wait for one before them, one message
 * that is not whole, and untaken messages up to a limit.
 */
package org.rdmasockets.internal.rpc.session;
