package org.rdmasockets.internal.selection;

import org.rdmasockets.internal.connection.Connection;

/** A connection, and why it goes over its transport. */
public record SelectedConnection(Connection connection, String reason) {}
