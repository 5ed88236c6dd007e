package org.rdmasockets.internal.ibverbs;

import java.io.IOException;
import java.util.Set;
import org.rdmasockets.internal.ffi.SharedMemoryAvailability;
import org.rdmasockets.verbs.Errno;

/** Remedies of a failed call, for a person. */
final class IbverbsRemedies {
    /** Calls that meet the system first. Their errno says little: a forbidden file is ENOENT for librdmacm. */
    private static final Set<String> FIRST_CALLS = Set.of("ibv_get_device_list", "rdma_get_devices",
            "rdma_create_event_channel");

    private IbverbsRemedies() {}

    /** The remedy for an error of a call, a clause without a full stop; empty if none is known. */
    static String of(String call, int errorNumber) {
        return FIRST_CALLS.contains(call) ? IbverbsAvailability.systemProblem().orElse(general(call, errorNumber))
                : general(call, errorNumber);
    }

    private static String general(String call, int errorNumber) {
        if (call.equals("sched_setaffinity")) {
            return "this process, or its container, may use none of these processors";
        }
        Errno errno = Errno.of(errorNumber);
        return switch (errno) {
            case ENOMEM -> call.startsWith("ibv_reg_mr") ? memlock() : outOfMemory(call);
            case ENODEV -> noDevice(call);
            case EADDRINUSE -> "the port is taken by another RDMA listener, or on iWARP by a TCP socket, because iWARP "
                    + "shares TCP's ports; take another port";
            case EACCES, EPERM -> "this user may not use RDMA; allow reading and writing /dev/infiniband/* "
                    + "(chmod 666, or the group that owns the files)";
            case EFAULT -> "the memory is not mapped, or not writable by this process";
            case EINVAL -> invalid(call);
            case EOPNOTSUPP, EPROTONOSUPPORT -> call.equals("ibv_reg_dmabuf_mr")
                    ? "this device, its driver or the kernel cannot reach the memory of another device (DMA-BUF)"
                    : "this device does not know that";
            case EBADF -> "the file descriptor is closed, or of something else";
            default -> errno.remedy();
        };
    }

    private static String memlock() {
        String limit;
        try {
            String soft = SharedMemoryAvailability.limit("Max locked memory");
            limit = soft.equals("unlimited") ? soft : Long.parseLong(soft) / 1024 + " KiB";
        } catch (IOException | NumberFormatException e) {
            limit = "an unknown size";
        }
        return "the memory that may be locked is limited to " + limit + ": raise it with ulimit -l, LimitMEMLOCK= of "
                + "the systemd unit, or memlock in /etc/security/limits.conf";
    }

    private static String outOfMemory(String call) {
        return switch (call) {
            case "ibv_create_cq", "ibv_create_qp", "rdma_create_qp", "ibv_create_srq" ->
                    "the device or the kernel has no more memory or handles: make queues shorter, or close some";
            case "ibv_alloc_pd" -> "the device has no more protection domains: close some";
            default -> "the kernel or the device is out of memory or of handles";
        };
    }

    private static String noDevice(String call) {
        return switch (call) {
            case "rdma_bind_addr", "rdma_resolve_addr", "rdma_resolve_route", "rdma_listen" ->
                    "no RDMA device for this address; \"rdma link\" lists the devices and their network interfaces";
            default -> "the device was removed";
        };
    }

    private static String invalid(String call) {
        return switch (call) {
            case "ibv_reg_dmabuf_mr" -> "the descriptor is of no DMA-BUF, the part is not inside it, or REMOTE_WRITE "
                    + "and REMOTE_ATOMIC are without LOCAL_WRITE";
            case "ibv_create_ah_from_wc" -> "what was received has no routing header that leads back to a GID of the "
                    + "port";
            case "ibv_reg_mr", "ibv_reg_mr_iova2" -> "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE";
            case "ibv_create_srq" -> "the device's shared receive queues have fewer receives, or fewer elements";
            case "ibv_modify_qp" -> "the queue pair's state does not allow this change, or an attribute is missing";
            case "rdma_connect", "rdma_accept", "rdma_reject" -> "the private data may be too long for this transport, "
                    + "or the identifier is not in the right state";
            default -> "";
        };
    }
}
