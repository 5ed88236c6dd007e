/*
 * The headers the bindings are generated from: verbs, the connection manager, and below them what is needed of libc.
 * Without _GNU_SOURCE: with it glibc declares the address of connect and getsockname as a transparent union, which
 * has no layout in Java.
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Offsets of the members that are read of two wide tables, whose classes would have 7,000 lines: a constant each is
 * enough.
 */
#include <stddef.h>
enum {
    IBV_CONTEXT_DEVICE = offsetof(struct ibv_context, device),
    IBV_CONTEXT_ALLOC_MW = offsetof(struct ibv_context, ops.alloc_mw),
    IBV_CONTEXT_DEALLOC_MW = offsetof(struct ibv_context, ops.dealloc_mw),
    IBV_CONTEXT_POLL_CQ = offsetof(struct ibv_context, ops.poll_cq),
    IBV_CONTEXT_REQ_NOTIFY_CQ = offsetof(struct ibv_context, ops.req_notify_cq),
    IBV_CONTEXT_POST_SRQ_RECV = offsetof(struct ibv_context, ops.post_srq_recv),
    IBV_CONTEXT_POST_SEND = offsetof(struct ibv_context, ops.post_send),
    IBV_CONTEXT_POST_RECV = offsetof(struct ibv_context, ops.post_recv),
    IBV_CONTEXT_ASYNC_FD = offsetof(struct ibv_context, async_fd),
    IBV_CONTEXT_ABI_COMPAT = offsetof(struct ibv_context, abi_compat),
    VERBS_CONTEXT_QUERY_DEVICE_EX = offsetof(struct verbs_context, query_device_ex),
    VERBS_CONTEXT_SZ = offsetof(struct verbs_context, sz),
    VERBS_CONTEXT_CONTEXT = offsetof(struct verbs_context, context),
    VERBS_CONTEXT_BYTES = sizeof(struct verbs_context)
};
