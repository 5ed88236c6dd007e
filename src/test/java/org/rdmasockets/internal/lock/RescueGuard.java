package org.rdmasockets.internal.lock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;

/** Registered for all tests: a class in whose time a timer found what a wake-up should have told fails. */
public final class RescueGuard implements BeforeAllCallback, AfterAllCallback {
    private static final Namespace OWN = Namespace.create(RescueGuard.class);

    @Override
    public void beforeAll(ExtensionContext context) {
        context.getStore(OWN).put(context.getUniqueId(), Rescues.places());
    }

    @Override
    public void afterAll(ExtensionContext context) {
        Map<?, ?> before = context.getStore(OWN).get(context.getUniqueId(), Map.class);
        assertEquals(before, Rescues.places(), "timers found what wake-ups should have told");
    }
}
