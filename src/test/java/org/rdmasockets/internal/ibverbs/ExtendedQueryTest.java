package org.rdmasockets.internal.ibverbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmasockets.internal.ibverbs.generated.ibv_context;
import org.rdmasockets.internal.ibverbs.generated.ibv_device_attr_ex;
import org.rdmasockets.internal.ibverbs.generated.ibv_odp_caps;
import org.rdmasockets.internal.ibverbs.generated.rdma_h;
import org.rdmasockets.internal.ibverbs.generated.verbs_context;

/** Finding a driver's function around a context, over a driver of our own. */
@SuppressWarnings("restricted")
class ExtendedQueryTest {
    private final Arena arena = Arena.ofAuto();
    private final MemorySegment around = verbs_context.allocate(arena);
    private final MemorySegment context = verbs_context.context(around);
    /** The driver's answer, and the arguments of the query. */
    private long capabilities = rdma_h.IBV_ODP_SUPPORT();
    private int result;
    private long askedContext;
    private long askedBytes;

    @BeforeEach
    void makeContext() {
        assumeTrue(NativeLibraries.problem().equals(Optional.empty()), "the libraries are not installed");
        ibv_context.abi_compat(context, MemorySegment.ofAddress(-1));
        verbs_context.sz(around, verbs_context.layout().byteSize());
        verbs_context.query_device_ex(around, verbs_context.query_device_ex.allocate(this::query, arena));
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
        assertTrue(ExtendedQuery.onDemandPaging(context));
        assertEquals(context.address(), askedContext);
        assertEquals(ibv_device_attr_ex.layout().byteSize(), askedBytes);
        capabilities = 0;
        assertFalse(ExtendedQuery.onDemandPaging(context));
    }

    @Test
    void aDriverThatFailsSaysNothing() {
        result = 95;
        assertFalse(ExtendedQuery.onDemandPaging(context));
    }

    @Test
    void anOlderStructureIsNotReadBeyondItsBeginning() {
        verbs_context.sz(around, verbs_context.layout().byteSize() - verbs_context.query_device_ex$offset() - 1);
        assertFalse(ExtendedQuery.onDemandPaging(context));
        verbs_context.sz(around, verbs_context.layout().byteSize() - verbs_context.query_device_ex$offset());
        assertTrue(ExtendedQuery.onDemandPaging(context));
        verbs_context.query_device_ex(around, MemorySegment.NULL);
        assertFalse(ExtendedQuery.onDemandPaging(context), "a driver without that function");
    }

    @Test
    void aContextWithoutTheStructureIsNotAsked() {
        ibv_context.abi_compat(context, MemorySegment.NULL);
        assertFalse(ExtendedQuery.onDemandPaging(context));
        assertEquals(0, askedContext);
    }
}
