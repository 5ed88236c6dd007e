package org.rdmasockets.overflow;

import org.junit.jupiter.api.extension.ExtendWith;
import org.rdmasockets.internal.sharedmemory.Linked;

/**
 * Over a link of shared memory, as between two processes. Calls and verbs are not among them: there about one run in
 * eight waits in vain after an overflow, and the cause is not known yet.
 */
@ExtendWith(Linked.class)
class OverflowOverLinkTest extends OverflowContract {
}
