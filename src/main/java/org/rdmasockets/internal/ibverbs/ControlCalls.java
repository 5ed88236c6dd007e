package org.rdmasockets.internal.ibverbs;

/** The functions of the control path, each under its C name. */
final class ControlCalls {
    static final ControlCall IBV_GET_DEVICE_LIST = new ControlCall("ibv_get_device_list");
    static final ControlCall IBV_FREE_DEVICE_LIST = new ControlCall("ibv_free_device_list");
    static final ControlCall IBV_GET_DEVICE_NAME = new ControlCall("ibv_get_device_name");
    static final ControlCall IBV_GET_DEVICE_GUID = new ControlCall("ibv_get_device_guid");
    static final ControlCall IBV_QUERY_DEVICE = new ControlCall("ibv_query_device");
    static final ControlCall IBV_QUERY_PORT = new ControlCall("ibv_query_port");
    static final ControlCall IBV_QUERY_GID = new ControlCall("ibv_query_gid");
    /** {@code ibv_query_gid_table} is inline C that calls it. */
    static final ControlCall IBV_QUERY_GID_TABLE = new ControlCall("ibv_query_gid_table", "_ibv_query_gid_table");
    static final ControlCall IBV_ALLOC_PD = new ControlCall("ibv_alloc_pd");
    static final ControlCall IBV_DEALLOC_PD = new ControlCall("ibv_dealloc_pd");
    static final ControlCall IBV_REG_MR = new ControlCall("ibv_reg_mr");
    /** For optional access and addresses of one's own; {@code ibv_reg_mr} of the header calls it for those, too. */
    static final ControlCall IBV_REG_MR_IOVA2 = new ControlCall("ibv_reg_mr_iova2");
    static final ControlCall IBV_REG_DMABUF_MR = new ControlCall("ibv_reg_dmabuf_mr");
    static final ControlCall IBV_DEREG_MR = new ControlCall("ibv_dereg_mr");
    static final ControlCall IBV_CREATE_COMP_CHANNEL = new ControlCall("ibv_create_comp_channel");
    static final ControlCall IBV_DESTROY_COMP_CHANNEL = new ControlCall("ibv_destroy_comp_channel");
    static final ControlCall IBV_CREATE_CQ = new ControlCall("ibv_create_cq");
    static final ControlCall IBV_RESIZE_CQ = new ControlCall("ibv_resize_cq");
    static final ControlCall IBV_DESTROY_CQ = new ControlCall("ibv_destroy_cq");
    static final ControlCall IBV_CREATE_QP = new ControlCall("ibv_create_qp");
    static final ControlCall IBV_QUERY_QP = new ControlCall("ibv_query_qp");
    static final ControlCall IBV_MODIFY_QP = new ControlCall("ibv_modify_qp");
    static final ControlCall IBV_DESTROY_QP = new ControlCall("ibv_destroy_qp");
    static final ControlCall IBV_CREATE_SRQ = new ControlCall("ibv_create_srq");
    static final ControlCall IBV_MODIFY_SRQ = new ControlCall("ibv_modify_srq");
    static final ControlCall IBV_QUERY_SRQ = new ControlCall("ibv_query_srq");
    static final ControlCall IBV_DESTROY_SRQ = new ControlCall("ibv_destroy_srq");
    static final ControlCall IBV_CREATE_AH = new ControlCall("ibv_create_ah");
    static final ControlCall IBV_CREATE_AH_FROM_WC = new ControlCall("ibv_create_ah_from_wc");
    static final ControlCall IBV_DESTROY_AH = new ControlCall("ibv_destroy_ah");
    static final ControlCall IBV_GET_ASYNC_EVENT = new ControlCall("ibv_get_async_event");
    static final ControlCall IBV_ACK_ASYNC_EVENT = new ControlCall("ibv_ack_async_event");

    static final ControlCall RDMA_CREATE_EVENT_CHANNEL = new ControlCall("rdma_create_event_channel");
    static final ControlCall RDMA_DESTROY_EVENT_CHANNEL = new ControlCall("rdma_destroy_event_channel");
    static final ControlCall RDMA_GET_CM_EVENT = new ControlCall("rdma_get_cm_event");
    static final ControlCall RDMA_ACK_CM_EVENT = new ControlCall("rdma_ack_cm_event");
    static final ControlCall RDMA_CREATE_ID = new ControlCall("rdma_create_id");
    static final ControlCall RDMA_DESTROY_ID = new ControlCall("rdma_destroy_id");
    static final ControlCall RDMA_SET_OPTION = new ControlCall("rdma_set_option");
    static final ControlCall RDMA_BIND_ADDR = new ControlCall("rdma_bind_addr");
    static final ControlCall RDMA_RESOLVE_ADDR = new ControlCall("rdma_resolve_addr");
    static final ControlCall RDMA_RESOLVE_ROUTE = new ControlCall("rdma_resolve_route");
    static final ControlCall RDMA_LISTEN = new ControlCall("rdma_listen");
    static final ControlCall RDMA_CONNECT = new ControlCall("rdma_connect");
    static final ControlCall RDMA_ACCEPT = new ControlCall("rdma_accept");
    static final ControlCall RDMA_REJECT = new ControlCall("rdma_reject");
    static final ControlCall RDMA_DISCONNECT = new ControlCall("rdma_disconnect");
    static final ControlCall RDMA_CREATE_QP = new ControlCall("rdma_create_qp");
    static final ControlCall RDMA_GET_DEVICES = new ControlCall("rdma_get_devices");
    static final ControlCall RDMA_FREE_DEVICES = new ControlCall("rdma_free_devices");

    static final ControlCall FCNTL = new ControlCall("fcntl");
    static final ControlCall SOCKET = new ControlCall("socket");
    static final ControlCall CONNECT = new ControlCall("connect");
    static final ControlCall GETSOCKNAME = new ControlCall("getsockname");
    static final ControlCall CLOSE = new ControlCall("close");

    /** Of the calling thread: 0, bytes of the mask, the mask. */
    static final ControlCall SCHED_SETAFFINITY = new ControlCall("sched_setaffinity");

    private ControlCalls() {}
}
