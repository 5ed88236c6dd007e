package org.rdmasockets.internal.ibverbs;

import java.lang.foreign.MemorySegment;
import org.rdmasockets.internal.log.LimitedLog;
import org.rdmasockets.internal.log.Log;

/** Calls of functions that destroy. Their failure is only logged: {@code close()} does not throw. */
final class Destruction {
    private static final Log LOG = new Log(Destruction.class);
    private static final LimitedLog LIMITED = new LimitedLog(LOG);

    private Destruction() {}

    /** Destroys the only argument of the C function; what stays until the process ends is logged. */
    static boolean check(ControlCall call, MemorySegment object) {
        int error = call.error(object);
        if (error != 0) {
            LIMITED.warn("{}; the native object stays until this process ends", call.failure(error, "").getMessage());
        }
        return error == 0;
    }
}
