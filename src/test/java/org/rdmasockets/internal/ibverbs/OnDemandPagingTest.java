package org.rdmasockets.internal.ibverbs;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.ibverbs.generated.ibv_device_attr_ex;
import org.rdmasockets.internal.ibverbs.generated.ibv_odp_caps;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;

/** Finding a driver's function around a context, over a driver of our own. */
@SuppressWarnings("restricted")
class OnDemandPagingTest {
    private static final long BYTES = DeviceFacts.CONTEXT_BYTES;

    private final Arena arena = Arena.ofAuto();
    private final MemorySegment around = arena.allocate(BYTES, Long.BYTES);
    private final MemorySegment context = around.asSlice(rdma_h.VERBS_CONTEXT_CONTEXT());
    /** The driver's answer, and the arguments of the query. */
    private long capabilities = rdma_h.IBV_ODP_SUPPORT();
    private int result;
    private long askedContext;
    private long askedBytes;

    @BeforeEach
    void makeContext() throws ReflectiveOperationException {
        assumeTrue(NativeLibraries.problem().equals(Optional.empty()), "the libraries are not installed");
        context.set(ADDRESS, DeviceFacts.ABI_COMPAT, MemorySegment.ofAddress(-1));
        size(BYTES);
        function(Linker.nativeLinker().upcallStub(MethodHandles.lookup().bind(this, "query", MethodType.methodType(
                int.class, MemorySegment.class, MemorySegment.class, MemorySegment.class, long.class)),
                FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG), arena));
    }

    private void size(long bytes) {
        around.set(JAVA_LONG, rdma_h.VERBS_CONTEXT_SZ(), bytes);
    }

    private void function(MemorySegment function) {
        around.set(ADDRESS, rdma_h.VERBS_CONTEXT_QUERY_DEVICE_EX(), function);
    }

    private int query(MemorySegment asked, MemorySegment input, MemorySegment attr, long bytes) {
        askedContext = asked.address();
        askedBytes = bytes;
        MemorySegment whole = attr.reinterpret(bytes);
        ibv_odp_caps.general_caps(ibv_device_attr_ex.odp_caps(whole), capabilities);
        return result;
    }

    @Test
    void theDriverIsAskedAboutItsContext() {
        assertTrue(DeviceFacts.onDemandPaging(context));
        assertEquals(context.address(), askedContext);
        assertEquals(ibv_device_attr_ex.layout().byteSize(), askedBytes);
        capabilities = 0;
        assertFalse(DeviceFacts.onDemandPaging(context));
    }

    @Test
    void aDriverThatFailsSaysNothing() {
        result = 95;
        assertFalse(DeviceFacts.onDemandPaging(context));
    }

    @Test
    void anOlderStructureIsNotReadBeyondItsBeginning() {
        size(BYTES - rdma_h.VERBS_CONTEXT_QUERY_DEVICE_EX() - 1);
        assertFalse(DeviceFacts.onDemandPaging(context));
        size(BYTES - rdma_h.VERBS_CONTEXT_QUERY_DEVICE_EX());
        assertTrue(DeviceFacts.onDemandPaging(context));
        function(MemorySegment.NULL);
        assertFalse(DeviceFacts.onDemandPaging(context), "a driver without that function");
    }

    @Test
    void aContextWithoutTheStructureIsNotAsked() {
        context.set(ADDRESS, DeviceFacts.ABI_COMPAT, MemorySegment.NULL);
        assertFalse(DeviceFacts.onDemandPaging(context));
        assertEquals(0, askedContext);
    }
}
