package org.rdmasockets.internal.sharedmemory;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.rdmasockets.internal.provider.Replacement;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * Shared memory that reaches this process itself by a link, as it does another process. A test class that is
 * {@linkplain ExtendWith extended} with this has it in the place of the process's own.
 */
public final class Linked implements BeforeAllCallback, AfterAllCallback {
    private Replacement replacement;

    /** Replaces nothing yet; for the test engine. */
    public Linked() {
    }

    /**
     * Makes a provider.
     *
     * @return a new one
     */
    public static VerbsProvider provider() {
        return new SharedMemoryProvider(true);
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        if (isOutermost(context)) {
            replacement = new Replacement(provider());
        }
    }

    @Override
    public void afterAll(ExtensionContext context) {
        if (isOutermost(context)) {
            replacement.close();
        }
    }

    /** The engine asks for each nested class, too, and those run beside each other. */
    private static boolean isOutermost(ExtensionContext context) {
        return context.getRequiredTestClass().getEnclosingClass() == null;
    }
}
