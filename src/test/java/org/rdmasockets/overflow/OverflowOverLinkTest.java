package org.rdmasockets.overflow;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.internal.sharedmemory.Linked;

/** Over a link of shared memory, as between two processes. */
@ExtendWith(Linked.class)
class OverflowOverLinkTest extends OverflowContract {
}
