package org.rdmasockets.internal.rpc.call;

import java.util.function.Consumer;

/**
 * A watcher that is told at once, perhaps under locks: a part of this library that takes note and runs nothing of an
 * application.
 */
@FunctionalInterface
public interface QuickWatcher<T> extends Consumer<T> {}
