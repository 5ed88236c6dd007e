package org.rdmasockets.contract;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AfterClassTemplateInvocationCallback;
import org.junit.jupiter.api.extension.BeforeClassTemplateInvocationCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.TestInstancePostProcessor;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.support.ParameterDeclarations;
import org.junit.platform.commons.support.AnnotationSupport;
import org.rdmasockets.StreamKind;

/** Enters each place of {@link RunIn} before the tests run there, and leaves it behind them. */
final class PlacesExtension implements ArgumentsProvider, BeforeClassTemplateInvocationCallback,
        AfterClassTemplateInvocationCallback, TestInstancePostProcessor {
    private static final Namespace OWN = Namespace.create(PlacesExtension.class);
    private static final String ONLY = System.getProperty("org.rdmasockets.test.places");

    private static boolean isWanted(Place place) {
        return place.isReachable() && (ONLY == null || List.of(ONLY.split(",")).contains(place.name()));
    }

    @Override
    public Stream<? extends Arguments> provideArguments(ParameterDeclarations parameters, ExtensionContext context) {
        RunIn how = AnnotationSupport.findAnnotation(context.getRequiredTestClass(), RunIn.class).orElseThrow();
        List<Place> places = Arrays.stream(how.value()).filter(PlacesExtension::isWanted).toList();
        return how.kinds().length == 0 ? places.stream().map(place -> Arguments.argumentSet(place.name(), place))
                : Arrays.stream(how.kinds()).flatMap(kind -> places.stream()
                        .map(place -> Arguments.argumentSet(place + " " + kind, place)));
    }

    @Override
    public void beforeClassTemplateInvocation(ExtensionContext context) throws Exception {
        String[] name = context.getDisplayName().split(" "); // arguments are told only to a class that has parameters
        Place.Entered where = Place.valueOf(name[0]).enter();
        if (name.length > 1) {
            where = new Place.Entered(where.place(),
                    new StreamKindFixture(where.fixture(), StreamKind.valueOf(name[1])), where.held());
        }
        context.getStore(OWN).put(Place.class, where);
        AmongBystanders.open(context, where.place() == Place.DEVICE);
    }

    @Override
    public void afterClassTemplateInvocation(ExtensionContext context) throws Exception {
        Place.Entered where = where(context);
        try {
            AmongBystanders.close(context);
        } finally {
            if (where != null && where.held() != null) {
                where.held().close();
            }
        }
    }

    /** The context of a test knows its place, that of its class does not. */
    @Override
    public ExtensionContextScope getTestInstantiationExtensionContextScope(ExtensionContext root) {
        return ExtensionContextScope.TEST_METHOD;
    }

    @Override
    public void postProcessTestInstance(Object test, ExtensionContext context) {
        if (test instanceof Placed placed) {
            placed.runsIn(where(context));
        }
    }

    /** Where the tests of a context run; null outside of {@link RunIn}. */
    static Place.Entered where(ExtensionContext context) {
        return context.getStore(OWN).get(Place.class, Place.Entered.class);
    }
}
