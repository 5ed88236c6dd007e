package org.rdmasockets.contract;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/** The tests of a suite run among connections whose readers are parked at both ends. */
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(AmongBystanders.class)
public @interface Bystanders {
    /**
     * Whether the bystanders wake each other now and then.
     *
     * @return false if all are parked to the end
     */
    boolean ring() default false;
}
