package org.rdmasockets.contract;

import java.util.Optional;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.rdmasockets.Transport;

/** Opens bystanders before the first test of a suite; after the last one each must answer still. */
final class AmongBystanders implements BeforeAllCallback, AfterAllCallback {
    private static final Namespace OWN = Namespace.create(AmongBystanders.class);

    @Override
    public void beforeAll(ExtensionContext context) throws Exception {
        // The classes nested in a suite get this extension, too, but not the annotation.
        Bystanders how = context.getRequiredTestClass().getAnnotation(Bystanders.class);
        if (how == null) {
            return;
        }
        SocketFixture fixture = context.getTags().contains("device") ? new DeviceFixture()
                : new RdmaFixture(Transport.SHARED_MEMORY);
        Optional<String> reason = fixture.whyNot(SocketFixture.Ability.MANY_CONNECTIONS);
        if (reason.isPresent()) {
            System.out.println(context.getDisplayName() + " runs without bystanders: " + reason.get());
            return;
        }
        context.getStore(OWN).put(context.getUniqueId(), new ParkedConnections(fixture, how.ring()));
    }

    @Override
    public void afterAll(ExtensionContext context) throws Exception {
        ParkedConnections all = context.getStore(OWN).remove(context.getUniqueId(), ParkedConnections.class);
        if (all != null) {
            try (all) {
                all.checkAnswers();
            }
        }
    }
}
