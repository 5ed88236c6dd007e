package org.rdmasockets.internal.rsockets;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import org.rdmasockets.verbs.CompletionOpcode;
import org.rdmasockets.verbs.SendRequest;

/** A connection whose device and peer are played by the test, step by step. */
final class ScriptedConnection {
    static final long PEER_TABLE = 0x10000;
    static final int PEER_TABLE_KEY = 0x77;
    static final long PEER_RING = 0x20_0000;
    static final int PEER_RING_KEY = 0x88;
    static final int PEER_HALF = 65536;
    static final int SHUTDOWN = 0xE0000002;
    static final int DISCONNECT = 0xE0000000;
    private static final long ID_BASE = 0x7F_0001L << 24;

    final StreamSettings settings;
    final FakeQueuePair queuePair;
    final SimulatedRegion sendRegion;
    final SimulatedRegion remoteRegion;
    final StreamConnection connection;
    private final List<FakeQueuePair.Send> outstanding = new ArrayList<>();
    /** Where the ring begins in the remote region. */
    final long ringStart;
    private int ringOffset;

    ScriptedConnection(Arena arena, StreamSettings settings, int maxInline) throws SocketException {
        this.settings = settings;
        ringStart = RegionLayout.of(settings).ringOffset();
        sendRegion = SimulatedRegion.local(arena, settings.sendRegionBytes());
        remoteRegion = SimulatedRegion.remote(arena, settings.remoteRegionBytes());
        queuePair = new FakeQueuePair(settings, maxInline, sendRegion, remoteRegion);
        connection = new StreamConnection(queuePair, sendRegion, remoteRegion, settings, ID_BASE);
        connection.postReceives();
    }

    /** Settings of C on InfiniBand: 384 credits, two rings of 128 KiB. */
    static StreamSettings infiniBand() {
        return settings(65536);
    }

    /** On InfiniBand, with chunks of some size in the beginning. */
    static StreamSettings settings(int firstChunkBytes) {
        return new StreamSettings(true, true, true, false, 64, 400, 131072, Math.max(131072, 2 * firstChunkBytes),
                131072, firstChunkBytes, 1 << 20, 0, FlowKind.CREDIT_RING, 4096);
    }

    /** The same on iWARP. */
    static StreamSettings iwarp() {
        return new StreamSettings(false, false, false, false, 64, 400, 131072, 131072, 131072, 65536,
                1 << 20, 0, FlowKind.CREDIT_RING, 4096);
    }

    /** Connected to a peer with C's defaults, and the first announcement done. */
    static ScriptedConnection started(Arena arena, StreamSettings settings) throws SocketException {
        ScriptedConnection scripted = new ScriptedConnection(arena, settings, settings.immediateData() ? 0 : 4);
        scripted.connection.start(peer(384, 2, false));
        scripted.posted();
        scripted.complete();
        return scripted;
    }

    static ConnectData peer(int credits, int tableEntries, boolean bigEndian) {
        return peer(credits, tableEntries, bigEndian, false);
    }

    static ConnectData peer(int credits, int tableEntries, boolean bigEndian, boolean movesOn) {
        return new ConnectData(bigEndian, movesOn, credits, PEER_TABLE, PEER_TABLE_KEY, tableEntries, PEER_RING,
                PEER_RING_KEY, PEER_HALF, 0, FlowKind.CREDIT_RING, 0);
    }

    /** The requests posted since the last call, such as {@code WRITE_WITH_IMMEDIATE 10 @200000/88 0000000a}. */
    List<String> posted() {
        List<String> lines = new ArrayList<>();
        for (FakeQueuePair.Send send : takePosted()) {
            String where = send.isWrite() ? " @" + Long.toHexString(send.remoteAddress) + "/"
                    + Integer.toHexString(send.remoteKey) : " " + HexFormat.of().formatHex(send.payload());
            String message = send.opcode == SendRequest.Opcode.WRITE_WITH_IMMEDIATE
                    ? String.format(Locale.ROOT, " %08x", send.immediate) : "";
            lines.add(send.opcode + " " + send.payload().length + where + message);
        }
        return lines;
    }

    /** The requests posted since the last call. */
    List<FakeQueuePair.Send> takePosted() {
        List<FakeQueuePair.Send> sends = List.copyOf(queuePair.sends);
        outstanding.addAll(sends);
        queuePair.sends.clear();
        return sends;
    }

    /** All requests taken so far complete. */
    void complete() {
        complete(0);
    }

    /** All requests taken so far complete with a status; success shows only for those that were signalled. */
    void complete(int status) {
        List<FakeQueuePair.Send> all = outstanding.stream().filter(s -> s.signalled || status != 0).toList();
        outstanding.clear();
        for (FakeQueuePair.Send send : all) {
            queuePair.retireSend(send.workRequestId);
            connection.onCompletion(send.workRequestId, status, CompletionOpcode.WRITE, 0, false, 0);
        }
    }

    /** A message arrives, as it does after a write of some bytes. */
    void arrive(int message, int lengthBytes) {
        FakeQueuePair.Receive receive = queuePair.receives.remove();
        queuePair.retireReceive();
        if (settings.immediateData()) {
            connection.onCompletion(receive.workRequestId(), 0, CompletionOpcode.RECEIVE_WRITE_WITH_IMMEDIATE,
                    lengthBytes, true, message);
        } else {
            MemorySegment slot = receive.region().at(receive.address(), 4);
            slot.set(ValueLayout.JAVA_INT, 0, message);
            connection.onCompletion(receive.workRequestId(), 0, CompletionOpcode.RECEIVE, 4, false, 0);
        }
    }

    /** Data arrives where the peer would put it. */
    void data(byte... bytes) {
        for (byte b : bytes) {
            remoteRegion.segment().set(ValueLayout.JAVA_BYTE, ringStart + ringOffset, b);
            ringOffset = (ringOffset + 1) % settings.receiveBufferBytes();
        }
        arrive(bytes.length, bytes.length);
    }

    /** A completion with an error. */
    void receiveFails(int status) {
        FakeQueuePair.Receive receive = queuePair.receives.remove();
        queuePair.retireReceive();
        connection.onCompletion(receive.workRequestId(), status, CompletionOpcode.UNKNOWN, 0, false, 0);
    }

    /** The peer writes an entry of our table. */
    void entry(int index, long address, int key, int length) {
        MemorySegment table = remoteRegion.segment();
        table.set(ValueLayout.JAVA_LONG, 16L * index, address);
        table.set(ValueLayout.JAVA_INT, 16L * index + 8, key);
        table.set(ValueLayout.JAVA_INT, 16L * index + 12, length);
    }

    /** Reads once. */
    int read(byte[] bytes) throws SocketException {
        return connection.read(bytes, 0, bytes.length);
    }

    /** Writes so many bytes at once. */
    int write(int length) throws SocketException {
        return connection.write(new byte[length], 0, length);
    }
}
