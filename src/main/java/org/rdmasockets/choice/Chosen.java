package org.rdmasockets.choice;

import org.rdmasockets.transport.Connection;

/**
 * A connection, and why it goes over its transport.
 *
 * @param connection the connection
 * @param reason for people
 */
public record Chosen(Connection connection, String reason) {
}
