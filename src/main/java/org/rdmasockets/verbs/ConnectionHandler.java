package org.rdmasockets.verbs;

/** Gets the events of a {@link ConnectionIdentifier}. */
@FunctionalInterface
public interface ConnectionHandler {
    /**
     * Called for each event, in the thread that drains the connection manager; must neither block nor throw. An event
     * may still arrive while the identifier is being closed, none after {@code close()} has returned.
     *
     * @param identifier whom the event is about; for {@link ConnectionEvent.ConnectRequest} the listening one
     * @param event what happened
     */
    void onEvent(ConnectionIdentifier identifier, ConnectionEvent event);

    /**
     * Whether an answer to a request for a connection may come at once, from whatever thread has heard of it, which may
     * hold locks of the provider: where the handler only notes it, that saves a change of threads. False unless
     * overridden.
     */
    default boolean takesAnswersAtOnce() {
        return false;
    }
}
