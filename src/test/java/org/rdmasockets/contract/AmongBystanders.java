package org.rdmasockets.contract;

import java.util.Optional;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.platform.commons.support.AnnotationSupport;
import org.rdmasockets.Transport;

/**
 * Opens bystanders before the first test of a suite; after the last one each must answer still. {@link PlacesExtension}
 * does it in each place.
 */
final class AmongBystanders implements BeforeAllCallback, AfterAllCallback {
    private static final Namespace OWN = Namespace.create(AmongBystanders.class);

    @Override
    public void beforeAll(ExtensionContext context) throws Exception {
        if (!AnnotationSupport.isAnnotated(context.getRequiredTestClass(), RunIn.class)) {
            open(context, context.getTags().contains("device"));
        }
    }

    /** Opens them; the classes nested in a suite get this extension, too, but not the annotation, and so none. */
    static void open(ExtensionContext context, boolean onDevice) throws Exception {
        Bystanders how = context.getRequiredTestClass().getAnnotation(Bystanders.class);
        if (how == null) {
            return;
        }
        SocketFixture fixture = onDevice ? new DeviceFixture() : new RdmaFixture(Transport.SHARED_MEMORY);
        Optional<String> reason = fixture.whyNot(SocketFixture.Ability.MANY_CONNECTIONS);
        if (reason.isPresent()) {
            System.out.println(context.getDisplayName() + " runs without bystanders: " + reason.get());
            return;
        }
        context.getStore(OWN).put(context.getUniqueId(), new ParkedConnections(fixture, how.ring()));
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        close(context);
    }

    static void close(ExtensionContext context) throws Exception {
        ParkedConnections all = context.getStore(OWN).remove(context.getUniqueId(), ParkedConnections.class);
        if (all != null) {
            try (all) {
                all.checkAnswers();
            }
        }
    }
}
