package org.rdmasockets.internal.ffi;

import org.rdmasockets.verbs.Errno;

/** Remedies of a failed call, for a person. */
final class SharedMemoryRemedies {
    private SharedMemoryRemedies() {}

    /** The remedy for an error of a call, a clause without a full stop; empty if none is known. */
    static String of(String call, int errorNumber) {
        Errno errno = Errno.of(errorNumber);
        return switch (errno) {
            case ENOMEM -> call.equals("mmap")
                    ? "this process has too many mappings or too little address space: raise the sysctl "
                            + "vm.max_map_count, or ulimit -v"
                    : "the kernel is out of memory";
            case ENOSPC -> call.equals("epoll_ctl")
                    ? "the system has too many watched descriptors: raise the sysctl fs.epoll.max_user_watches"
                    : "there is no room for more shared memory: raise the memory limit of the container, or free some";
            case EAGAIN -> call.equals("connect") ? "too many processes ask for a connection at once; try again" : "";
            case ENOSYS -> "the kernel lacks this call, or a sandbox hides it; Linux 3.17 or newer has it";
            case EPERM, EACCES -> "a sandbox, seccomp filter or security module forbids it; allow this call";
            case EADDRINUSE -> "the port is taken by another process of this user; take another port";
            default -> errno.remedy();
        };
    }
}
