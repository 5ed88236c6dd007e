package org.rdmasockets.endpoint;

import java.util.EnumSet;
import java.util.Set;
import org.rdmasockets.verbs.AccessFlag;

/** The rights of a peer on memory, as one octet of a header codes them. */
final class Rights {
    /** All that can be given to a peer. */
    static final Set<AccessFlag> REMOTE = Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_ATOMIC);

    private static final int READ = 1;
    private static final int WRITE = 2;
    private static final int ATOMIC = 4;

    private Rights() {}

    /** Whether a peer may do anything at all. */
    static boolean anyRemote(Set<AccessFlag> access) {
        return access.stream().anyMatch(REMOTE::contains);
    }

    /** The octet of some rights; local ones are left out. */
    static int encode(Set<AccessFlag> access) {
        return (access.contains(AccessFlag.REMOTE_READ) ? READ : 0)
                | (access.contains(AccessFlag.REMOTE_WRITE) ? WRITE : 0)
                | (access.contains(AccessFlag.REMOTE_ATOMIC) ? ATOMIC : 0);
    }

    /** The rights of an octet; bits without a meaning are left out. */
    static Set<AccessFlag> decode(int octet) {
        Set<AccessFlag> rights = EnumSet.noneOf(AccessFlag.class);
        if ((octet & READ) != 0) {
            rights.add(AccessFlag.REMOTE_READ);
        }
        if ((octet & WRITE) != 0) {
            rights.add(AccessFlag.REMOTE_WRITE);
        }
        if ((octet & ATOMIC) != 0) {
            rights.add(AccessFlag.REMOTE_ATOMIC);
        }
        return rights;
    }

    /**
     * The flags to register memory with so that a peer has these rights: all operations that change memory need
     * {@link AccessFlag#LOCAL_WRITE}.
     */
    static Set<AccessFlag> complete(Set<AccessFlag> access) {
        Set<AccessFlag> all = EnumSet.of(AccessFlag.LOCAL_WRITE);
        all.addAll(access);
        return all;
    }
}
