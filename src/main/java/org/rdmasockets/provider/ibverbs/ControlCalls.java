package org.rdmasockets.provider.ibverbs;

import java.lang.foreign.FunctionDescriptor;
import org.rdmasockets.provider.ibverbs.generated.ibverbs_h;
import org.rdmasockets.provider.ibverbs.generated.libc_h;
import org.rdmasockets.provider.ibverbs.generated.rdmacm_h;

/** The functions of the control path, each under its C name, with the descriptors that jextract made. */
final class ControlCalls {
    static final ControlCall IBV_GET_DEVICE_LIST = new ControlCall("ibv_get_device_list",
            ibverbs_h::ibv_get_device_list$descriptor, ibverbs_h::ibv_get_device_list$address);
    static final ControlCall IBV_FREE_DEVICE_LIST = new ControlCall("ibv_free_device_list",
            ibverbs_h::ibv_free_device_list$descriptor, ibverbs_h::ibv_free_device_list$address);
    static final ControlCall IBV_GET_DEVICE_NAME = new ControlCall("ibv_get_device_name",
            ibverbs_h::ibv_get_device_name$descriptor, ibverbs_h::ibv_get_device_name$address);
    static final ControlCall IBV_GET_DEVICE_GUID = new ControlCall("ibv_get_device_guid",
            ibverbs_h::ibv_get_device_guid$descriptor, ibverbs_h::ibv_get_device_guid$address);
    static final ControlCall IBV_QUERY_DEVICE = new ControlCall("ibv_query_device",
            ibverbs_h::ibv_query_device$descriptor, ibverbs_h::ibv_query_device$address);
    static final ControlCall IBV_QUERY_PORT = new ControlCall("ibv_query_port",
            ibverbs_h::ibv_query_port$descriptor, ibverbs_h::ibv_query_port$address);
    static final ControlCall IBV_QUERY_GID = new ControlCall("ibv_query_gid",
            ibverbs_h::ibv_query_gid$descriptor, ibverbs_h::ibv_query_gid$address);
    /** {@code ibv_query_gid_table} is inline C that calls it. */
    static final ControlCall IBV_QUERY_GID_TABLE = new ControlCall("ibv_query_gid_table",
            ibverbs_h::_ibv_query_gid_table$descriptor, ibverbs_h::_ibv_query_gid_table$address);
    static final ControlCall IBV_ALLOC_PD = new ControlCall("ibv_alloc_pd",
            ibverbs_h::ibv_alloc_pd$descriptor, ibverbs_h::ibv_alloc_pd$address);
    static final ControlCall IBV_DEALLOC_PD = new ControlCall("ibv_dealloc_pd",
            ibverbs_h::ibv_dealloc_pd$descriptor, ibverbs_h::ibv_dealloc_pd$address);
    static final ControlCall IBV_REG_MR = new ControlCall("ibv_reg_mr",
            ibverbs_h::ibv_reg_mr$descriptor, ibverbs_h::ibv_reg_mr$address);
    /** For optional access and addresses of one's own; {@code ibv_reg_mr} of the header calls it for those, too. */
    static final ControlCall IBV_REG_MR_IOVA2 = new ControlCall("ibv_reg_mr_iova2",
            ibverbs_h::ibv_reg_mr_iova2$descriptor, ibverbs_h::ibv_reg_mr_iova2$address);
    static final ControlCall IBV_REG_DMABUF_MR = new ControlCall("ibv_reg_dmabuf_mr",
            ibverbs_h::ibv_reg_dmabuf_mr$descriptor, ibverbs_h::ibv_reg_dmabuf_mr$address);
    static final ControlCall IBV_DEREG_MR = new ControlCall("ibv_dereg_mr",
            ibverbs_h::ibv_dereg_mr$descriptor, ibverbs_h::ibv_dereg_mr$address);
    static final ControlCall IBV_CREATE_COMP_CHANNEL = new ControlCall("ibv_create_comp_channel",
            ibverbs_h::ibv_create_comp_channel$descriptor, ibverbs_h::ibv_create_comp_channel$address);
    static final ControlCall IBV_DESTROY_COMP_CHANNEL = new ControlCall("ibv_destroy_comp_channel",
            ibverbs_h::ibv_destroy_comp_channel$descriptor, ibverbs_h::ibv_destroy_comp_channel$address);
    static final ControlCall IBV_CREATE_CQ = new ControlCall("ibv_create_cq",
            ibverbs_h::ibv_create_cq$descriptor, ibverbs_h::ibv_create_cq$address);
    static final ControlCall IBV_RESIZE_CQ = new ControlCall("ibv_resize_cq",
            ibverbs_h::ibv_resize_cq$descriptor, ibverbs_h::ibv_resize_cq$address);
    static final ControlCall IBV_DESTROY_CQ = new ControlCall("ibv_destroy_cq",
            ibverbs_h::ibv_destroy_cq$descriptor, ibverbs_h::ibv_destroy_cq$address);
    static final ControlCall IBV_CREATE_QP = new ControlCall("ibv_create_qp",
            ibverbs_h::ibv_create_qp$descriptor, ibverbs_h::ibv_create_qp$address);
    static final ControlCall IBV_QUERY_QP = new ControlCall("ibv_query_qp",
            ibverbs_h::ibv_query_qp$descriptor, ibverbs_h::ibv_query_qp$address);
    static final ControlCall IBV_MODIFY_QP = new ControlCall("ibv_modify_qp",
            ibverbs_h::ibv_modify_qp$descriptor, ibverbs_h::ibv_modify_qp$address);
    static final ControlCall IBV_DESTROY_QP = new ControlCall("ibv_destroy_qp",
            ibverbs_h::ibv_destroy_qp$descriptor, ibverbs_h::ibv_destroy_qp$address);
    static final ControlCall IBV_CREATE_SRQ = new ControlCall("ibv_create_srq",
            ibverbs_h::ibv_create_srq$descriptor, ibverbs_h::ibv_create_srq$address);
    static final ControlCall IBV_MODIFY_SRQ = new ControlCall("ibv_modify_srq",
            ibverbs_h::ibv_modify_srq$descriptor, ibverbs_h::ibv_modify_srq$address);
    static final ControlCall IBV_QUERY_SRQ = new ControlCall("ibv_query_srq",
            ibverbs_h::ibv_query_srq$descriptor, ibverbs_h::ibv_query_srq$address);
    static final ControlCall IBV_DESTROY_SRQ = new ControlCall("ibv_destroy_srq",
            ibverbs_h::ibv_destroy_srq$descriptor, ibverbs_h::ibv_destroy_srq$address);
    static final ControlCall IBV_CREATE_AH = new ControlCall("ibv_create_ah",
            ibverbs_h::ibv_create_ah$descriptor, ibverbs_h::ibv_create_ah$address);
    static final ControlCall IBV_CREATE_AH_FROM_WC = new ControlCall("ibv_create_ah_from_wc",
            ibverbs_h::ibv_create_ah_from_wc$descriptor, ibverbs_h::ibv_create_ah_from_wc$address);
    static final ControlCall IBV_DESTROY_AH = new ControlCall("ibv_destroy_ah",
            ibverbs_h::ibv_destroy_ah$descriptor, ibverbs_h::ibv_destroy_ah$address);
    static final ControlCall IBV_GET_ASYNC_EVENT = new ControlCall("ibv_get_async_event",
            ibverbs_h::ibv_get_async_event$descriptor, ibverbs_h::ibv_get_async_event$address);
    static final ControlCall IBV_ACK_ASYNC_EVENT = new ControlCall("ibv_ack_async_event",
            ibverbs_h::ibv_ack_async_event$descriptor, ibverbs_h::ibv_ack_async_event$address);

    static final ControlCall RDMA_CREATE_EVENT_CHANNEL = new ControlCall("rdma_create_event_channel",
            rdmacm_h::rdma_create_event_channel$descriptor, rdmacm_h::rdma_create_event_channel$address);
    static final ControlCall RDMA_DESTROY_EVENT_CHANNEL = new ControlCall("rdma_destroy_event_channel",
            rdmacm_h::rdma_destroy_event_channel$descriptor, rdmacm_h::rdma_destroy_event_channel$address);
    static final ControlCall RDMA_GET_CM_EVENT = new ControlCall("rdma_get_cm_event",
            rdmacm_h::rdma_get_cm_event$descriptor, rdmacm_h::rdma_get_cm_event$address);
    static final ControlCall RDMA_ACK_CM_EVENT = new ControlCall("rdma_ack_cm_event",
            rdmacm_h::rdma_ack_cm_event$descriptor, rdmacm_h::rdma_ack_cm_event$address);
    static final ControlCall RDMA_CREATE_ID = new ControlCall("rdma_create_id",
            rdmacm_h::rdma_create_id$descriptor, rdmacm_h::rdma_create_id$address);
    static final ControlCall RDMA_DESTROY_ID = new ControlCall("rdma_destroy_id",
            rdmacm_h::rdma_destroy_id$descriptor, rdmacm_h::rdma_destroy_id$address);
    static final ControlCall RDMA_SET_OPTION = new ControlCall("rdma_set_option",
            rdmacm_h::rdma_set_option$descriptor, rdmacm_h::rdma_set_option$address);
    static final ControlCall RDMA_BIND_ADDR = new ControlCall("rdma_bind_addr",
            rdmacm_h::rdma_bind_addr$descriptor, rdmacm_h::rdma_bind_addr$address);
    static final ControlCall RDMA_RESOLVE_ADDR = new ControlCall("rdma_resolve_addr",
            rdmacm_h::rdma_resolve_addr$descriptor, rdmacm_h::rdma_resolve_addr$address);
    static final ControlCall RDMA_RESOLVE_ROUTE = new ControlCall("rdma_resolve_route",
            rdmacm_h::rdma_resolve_route$descriptor, rdmacm_h::rdma_resolve_route$address);
    static final ControlCall RDMA_LISTEN = new ControlCall("rdma_listen",
            rdmacm_h::rdma_listen$descriptor, rdmacm_h::rdma_listen$address);
    static final ControlCall RDMA_CONNECT = new ControlCall("rdma_connect",
            rdmacm_h::rdma_connect$descriptor, rdmacm_h::rdma_connect$address);
    static final ControlCall RDMA_ACCEPT = new ControlCall("rdma_accept",
            rdmacm_h::rdma_accept$descriptor, rdmacm_h::rdma_accept$address);
    static final ControlCall RDMA_REJECT = new ControlCall("rdma_reject",
            rdmacm_h::rdma_reject$descriptor, rdmacm_h::rdma_reject$address);
    static final ControlCall RDMA_DISCONNECT = new ControlCall("rdma_disconnect",
            rdmacm_h::rdma_disconnect$descriptor, rdmacm_h::rdma_disconnect$address);
    static final ControlCall RDMA_CREATE_QP = new ControlCall("rdma_create_qp",
            rdmacm_h::rdma_create_qp$descriptor, rdmacm_h::rdma_create_qp$address);
    static final ControlCall RDMA_GET_DEVICES = new ControlCall("rdma_get_devices",
            rdmacm_h::rdma_get_devices$descriptor, rdmacm_h::rdma_get_devices$address);
    static final ControlCall RDMA_FREE_DEVICES = new ControlCall("rdma_free_devices",
            rdmacm_h::rdma_free_devices$descriptor, rdmacm_h::rdma_free_devices$address);


    static final ControlCall FCNTL = new ControlCall("fcntl",
            () -> FunctionDescriptor.of(libc_h.C_INT, libc_h.C_INT, libc_h.C_INT, libc_h.C_INT),
            libc_h.fcntl::address, 2);

    /** Of the calling thread: 0, bytes of the mask, the mask. */
    static final ControlCall SCHED_SETAFFINITY = new ControlCall("sched_setaffinity",
            () -> FunctionDescriptor.of(libc_h.C_INT, libc_h.C_INT, libc_h.C_LONG, libc_h.C_POINTER),
            () -> IbverbsCalls.function("sched_setaffinity"));

    private ControlCalls() {
    }
}
