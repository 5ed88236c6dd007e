package org.rdmasockets.contract;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.rdmasockets.StreamKind;

/**
 * A test class that runs in several places, one after the other; itself and the classes nested in it are told if they
 * are {@link Placed}. {@code mvn verify} runs it everywhere but on a device, the test guest on the device alone. The
 * property {@code org.rdmasockets.test.places} names the places to run, all without it.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ParameterizedClass(name = "{argumentSetName}", allowZeroInvocations = true)
@ArgumentsSource(PlacesExtension.class)
@ExtendWith(PlacesExtension.class)
@Tag("places")
public @interface RunIn {
    /**
     * The places.
     *
     * @return one or more
     */
    Place[] value();

    /**
     * How streams are carried, each in every place.
     *
     * @return kinds, or none to leave it to the sockets
     */
    StreamKind[] kinds() default {};
}
