package org.rdmasockets.verbs;

/**
 * Gets the events of a {@link ConnectionIdentifier}.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface ConnectionHandler {
    /**
     * Called for each event, in the thread that drains the connection manager; must neither block nor throw. An event
     * may still arrive while the identifier is being closed, none after {@code close()} has returned.
     *
     * @param identifier the identifier that the event is about; for {@link ConnectionEvent.ConnectRequest} the
     *         listening one
     * @param event the event
     */
    void onEvent(ConnectionIdentifier identifier, ConnectionEvent event);
}
