package org.rdmasockets.choice;

import org.rdmasockets.transport.Connection;

/** A connection, and why it goes over its transport. */
public record SelectedConnection(Connection connection, String reason) {}
