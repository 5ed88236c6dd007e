package org.rdmasockets.verbs;

/**
 * Something that an {@link EventPoller} can wait for: a completion channel, a connection manager, the asynchronous
 * events of a device. When it is reported ready, its own draining method must be called before the next wait, or it is
 * reported again at once.
 *
 * @since 0.1
 */
public interface EventSource {}
