/**
 * The rules of {@code java.net}: what a program sees of a socket, whatever carries it. {@code RdmaSocketImpl} keeps the
 * state of one socket, its options, its turns of readers and writers, and its timeouts; the bytes are the connection's.
 *
 * <p>{@code org.rdmasockets} is the other half of this: its classes are named by users and delegate to those here,
 * which use its values ({@code Transport}, {@code RdmaSocketOptions}) and nothing else of it. No class here knows a
 * device.
 */
package org.rdmasockets.internal.socket;
