/**
 * Layouts and constants, as jextract makes them of the headers of libibverbs and librdmacm (rdma-core 44).
 *
 * <p>Every class here but this file is output of {@code src/main/jextract/generate} and never edited; names are those
 * of C. Only {@code org.rdmasockets.internal.ibverbs} may use the package, and from any thread.
 *
 * <ul>
 * <li>{@code ibv_wc}, {@code rdma_cm_id} and the like: {@code layout()} and the accessors of one struct. Its offsets and
 *     size are constants; the layout is made anew for each who asks.
 * <li>{@code rdma_h}: constants. Neither it nor a struct loads a library.
 * </ul>
 *
 * <p>Even a constant needs native access: {@code rdma_h} and the structs initialise
 * {@code common_h}, which calls a restricted method. Where access is denied that fails with an
 * {@code ExceptionInInitializerError} caused by {@link java.lang.IllegalCallerException}.
 *
 * <p>{@code ibv_poll_cq}, {@code ibv_req_notify_cq}, {@code ibv_post_send} and {@code ibv_post_recv} are no symbols but
 * function pointers in {@code ibv_context}, a table so wide that {@code rdma_h} has the offsets of those in use.
 */
package org.rdmasockets.internal.ibverbs.generated;
