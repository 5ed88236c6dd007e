package org.rdmasockets.provider.os;

import org.rdmasockets.verbs.Errno;

/** What a person can do about a failed call. */
final class Remedies {
    private Remedies() {
    }

    /**
     * The remedy for an error of a call.
     *
     * @param call the C function
     * @param errorNumber positive errno
     * @return a clause without a full stop, empty if none is known
     */
    static String of(String call, int errorNumber) {
        return switch (Errno.of(errorNumber)) {
            case EMFILE -> "this process has too many open files: raise ulimit -n";
            case ENFILE -> "this system has too many open files: raise the sysctl fs.file-max";
            case ENOMEM -> call.equals("mmap")
                    ? "this process has too many mappings or too little address space: raise the sysctl "
                            + "vm.max_map_count, or ulimit -v"
                    : "the kernel is out of memory";
            case ENOSPC -> "the system has too many watched descriptors: raise the sysctl fs.epoll.max_user_watches";
            case ENOSYS -> "the kernel lacks this call, or a sandbox hides it; Linux 3.17 or newer has it";
            case EPERM, EACCES -> "a sandbox, seccomp filter or security module forbids it; allow this call";
            case EADDRINUSE -> "the port is taken by another process of this user; take another port";
            default -> "";
        };
    }
}
