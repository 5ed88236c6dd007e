package org.rdmasockets.internal.lock;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** Fields that several threads change, for constants of the classes that have them. */
public final class VarHandles {
    private VarHandles() {}

    /** The field of the class that looks it up. */
    public static VarHandle of(MethodHandles.Lookup lookup, String name, Class<?> type) {
        try {
            return lookup.findVarHandle(lookup.lookupClass(), name, type);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
