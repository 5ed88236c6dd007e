/**
 * Verbs over the native libraries libibverbs and librdmacm, called through the foreign function interface.
 *
 * <p>{@link org.rdmasockets.internal.ibverbs.IbverbsProvider} is the only public class. Below it:
 * <ul>
 * <li>{@code IbverbsCalls} makes the calls of the data path, through the function pointers of {@code ibv_context.ops}
 *     with raw addresses. {@code ControlCall} lists all other functions and calls them as {@code ffi} does: errno is
 *     captured, and a failure names call, errno, arguments and remedy.
 * <li>{@code NativeHandle} owns one native object each: {@code close()} refuses new calls, waits for those in progress,
 *     and the last child of a closed parent destroys it. So nothing native is used after it was freed, and the order of
 *     destruction is right in any order of closing.
 * <li>{@code RdmacmConnectionManager} reads one non-blocking event channel; its thread is the caller's.
 * <li>{@code IbverbsAvailability} says why RDMA cannot be used, before any generated class is touched.
 * </ul>
 *
 * <p>Threads: any thread may enter anywhere. An object's monitor is held during a post or a poll and never while
 * something is destroyed, because that can block for long (soft-iWARP, while {@code rdma_connect} waits for a silent
 * host). No thread is started here.
 *
 * <p>Facts about devices that no attribute tells (inline limits, what siw lacks) are in {@code IbverbsDevice},
 * {@code DeviceFacts} and {@code QueuePairParents}. The generated layouts are those of x86-64, and hold for aarch64 but
 * for what lies behind a mutex of the C library, which {@code DeviceFacts} corrects. Both are little-endian, so numbers
 * in network order are always swapped. The package knows nothing of sockets.
 */
package org.rdmasockets.internal.ibverbs;
