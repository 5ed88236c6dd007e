package org.rdmasockets.internal.rsockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.net.SocketException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Memory that is lent to the reader is not lent to the peer. */
class StreamViewTest {
    private final Arena arena = Arena.ofShared();

    @AfterEach
    void free() {
        arena.close();
    }

    private ScriptedConnection started() throws SocketException {
        return ScriptedConnection.started(arena, ScriptedConnection.infiniBand());
    }

    @Test
    void aViewEndsWithItsChunkAndNotWithAMessage() throws SocketException {
        ScriptedConnection c = started();
        StreamConnection stream = c.connection;
        assertEquals(0, stream.view());
        c.data(new byte[1000]);
        c.data(new byte[64_536]);
        c.data(new byte[10]);
        assertEquals(65_536, stream.view());
        assertEquals(c.remoteRegion, stream.viewedRegion());
        assertEquals(c.ringStart, stream.viewedOffset());
        assertEquals(10, c.connection.available());
        stream.endView();
        assertEquals(10, stream.view());
        assertEquals(c.ringStart + 65_536, stream.viewedOffset());
    }

    @Test
    void thePeerGetsTheChunkWhenTheViewEnds() throws SocketException {
        ScriptedConnection c = started();
        StreamConnection stream = c.connection;
        c.data(new byte[65_536]);
        stream.view();
        assertTrue(c.posted().isEmpty());
        stream.endView();
        assertEquals(List.of("WRITE_WITH_IMMEDIATE 16 @10000/77 80000181"), c.posted());
    }

    @Test
    void nothingElseIsReadMeanwhile() throws SocketException {
        ScriptedConnection c = started();
        StreamConnection stream = c.connection;
        c.data(new byte[5]);
        assertEquals(2, c.read(new byte[2]));
        assertEquals(3, stream.view());
        c.data(new byte[5]);
        assertThrows(IllegalStateException.class, () -> c.read(new byte[1]));
        assertThrows(IllegalStateException.class, stream::view);
        stream.endView();
        assertEquals(5, c.read(new byte[10]));
    }

    @Test
    void discardedInputIsKeptAsLongAsSomebodyLooks() throws SocketException {
        ScriptedConnection c = started();
        StreamConnection stream = c.connection;
        c.data(new byte[65_536]);
        stream.view();
        c.connection.shutdownInput();
        c.data(new byte[100]);
        assertTrue(c.posted().isEmpty());
        stream.endView();
        assertFalse(c.posted().isEmpty());
        assertEquals(-1, stream.view());
        assertEquals(0, c.connection.available());
    }

    @Test
    void theEndAndFailuresAreToldAsToReaders() throws SocketException {
        ScriptedConnection ended = started();
        ended.data(new byte[1]);
        ended.arrive(ScriptedConnection.SHUTDOWN, 0);
        StreamConnection stream = ended.connection;
        assertEquals(1, stream.view());
        stream.endView();
        assertEquals(-1, stream.view());
        ScriptedConnection violated = started();
        violated.data(new byte[1]);
        violated.arrive(0x2000_0000, 0);
        assertThrows(SocketException.class, violated.connection::view);
        ScriptedConnection aborted = started();
        aborted.data(new byte[1]);
        StreamConnection late = aborted.connection;
        assertEquals(1, late.view());
        aborted.connection.abort();
        late.endView();
        assertEquals(-1, late.view());
    }
}
