package org.rdmasockets.internal.rsockets;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketException;
import java.util.Random;
import org.rdmasockets.verbs.MemoryRegion;

/** A {@link StreamConnection} with an owner that does what the transport does, and a random application. */
final class JavaPeer implements StreamPeer {
    private static final long ID_BASE = 0x1234_5678_9A00_0000L;
    /** By which offset the other end names what is mapped. */
    private static final long MAP_OFFSET = 1000;

    final FakeQueuePair queuePair;
    final StreamConnection connection;
    private final Plan plan;
    private final Random random;
    private final long writeSeed;
    private final long readSeed;
    private final byte[] buffer;
    private SimulatedWire.End end;
    private long written;
    private long read;
    private boolean started;
    private boolean sawEnd;
    private boolean cutOff;
    private boolean shut;
    private boolean closed;
    private boolean gone;
    private int supplied;
    private int returned;

    private final Arena arena;
    /** Memory of the application, and what is being sent from it: to be taken from, and up to, if any. */
    private final SimulatedRegion own;
    private int ownTaken;
    private int ownLength;
    /** That goes into memory that the other end has mapped. */
    private boolean placing;
    /** Memory that this end maps, where the other end leaves how much it had written to the stream at that time. */
    private final SimulatedRegion mapped;
    private MemoryMapper mapping;
    private boolean announced;
    /** The last such number that this end has left at the other. */
    private long placed = -1;
    private int placements;
    private JavaPeer partner;
    /** How much the application looks at without having read it. */
    private int viewed;

    JavaPeer(Arena arena, StreamSettings settings, int maxInline, Plan plan, Random random, long writeSeed) {
        SimulatedRegion sendRegion = SimulatedRegion.local(arena, settings.sendRegionBytes());
        SimulatedRegion remoteRegion = SimulatedRegion.readable(arena, settings.remoteRegionBytes());
        own = SimulatedRegion.local(arena, Math.max(plan.mostPerCall(), Long.BYTES));
        mapped = SimulatedRegion.remote(arena, Long.BYTES);
        queuePair = new FakeQueuePair(settings, maxInline, sendRegion, remoteRegion, own, mapped);
        connection = new StreamConnection(queuePair, sendRegion, remoteRegion, settings, ID_BASE);
        this.arena = arena;
        this.plan = plan;
        this.random = random;
        this.writeSeed = writeSeed;
        this.readSeed = -writeSeed;
        buffer = new byte[plan.mostPerCall()];
    }

    /** The other end, if that is one of these and maps are to be tried. */
    void partner(JavaPeer other) {
        partner = other;
    }

    void attach(SimulatedWire.End simulatedEnd) {
        end = simulatedEnd;
    }

    @Override
    public ConnectData localData() {
        return connection.localData();
    }

    @Override
    public void prepare() throws SocketException {
        connection.postReceives();
    }

    @Override
    public void start(ConnectData peer) throws SocketException {
        connection.start(peer);
        started = true;
    }

    @Override
    public boolean deliver() {
        SimulatedWire.Completion completion = end.poll(random);
        if (completion != null) {
            connection.onCompletion(completion.workRequestId(), completion.status().ordinal(), completion.opcode(),
                    completion.lengthBytes(), completion.hasImmediate(), completion.immediate());
            boolean held = !started || connection.flow() == FlowKind.SEND_RECEIVE; // until messages were read
            require(held || connection.failure() != null || connection.peerDisconnected() || end.isDead()
                    || queuePair.hasReceives(), "a receive was not posted again");
            return true;
        }
        if (end.takePeerLeft()) {
            connection.onDisconnected();
            return true;
        }
        return false;
    }

    @Override
    public boolean act() throws SocketException {
        if (gone) {
            return false;
        }
        boolean changed = own();
        if (random.nextInt(50) == 0 && !closed) {
            int before = connection.outstandingSends();
            if (random.nextBoolean()) {
                connection.confirm();
            } else {
                connection.keepalive();
            }
            changed |= connection.outstandingSends() != before;
        }
        if (partner != null && random.nextInt(20) == 0) {
            changed |= random.nextBoolean() ? tryPlace() : tryMap();
        }
        changed |= random.nextBoolean() ? tryWrite() : tryRead();
        return changed | close();
    }

    /** Reacts as the owner of a connection does. */
    private boolean own() {
        boolean over = connection.failure() != null || connection.peerDisconnected();
        boolean changed = false;
        if (over && !end.isDead()) {
            end.fail();
            changed = true;
        }
        changed |= tend();
        if (closed && connection.drained()) {
            connection.abort();
            end.destroy();
            connection.memory().takeAll().forEach(this::takeBack);
            gone = true;
            changed = true;
        }
        return changed;
    }

    /** Does the set-up pool's work, sooner or later, and the work after a pause, which may be any time. */
    private boolean tend() {
        if (random.nextInt(30) == 0) {
            int before = connection.outstandingSends();
            connection.shrink();
            return connection.outstandingSends() != before;
        }
        StreamMemory memory = connection.memory();
        if (!memory.isDue() || random.nextInt(3) > 0) {
            return false;
        }
        memory.takeRetired().forEach(this::takeBack);
        int chunkBytes = memory.wantedChunkBytes();
        if (random.nextInt(10) == 0) {
            memory.refuse();
        } else if (chunkBytes > 0) {
            supply(memory.supplyChunk(make(SimulatedRegion.remote(arena, chunkBytes)), chunkBytes, false));
            if (random.nextInt(10) == 0) {
                connection.shrink();
            }
            supply(memory.supplyChunk(make(SimulatedRegion.remote(arena, chunkBytes)), chunkBytes, true));
        }
        int sendBytes = memory.wantedSendBytes();
        if (sendBytes > 0) {
            supply(memory.supplySend(make(SimulatedRegion.local(arena, sendBytes)), sendBytes));
        }
        return true;
    }

    private SimulatedRegion make(SimulatedRegion region) {
        queuePair.add(region);
        supplied++;
        return region;
    }

    private void supply(boolean taken) {
        require(taken, "memory was refused before the end");
    }

    private void takeBack(MemoryRegion region) {
        queuePair.close((SimulatedRegion) region);
        returned++;
    }

    /** How many writes joined the one before them. */
    int joined() {
        return queuePair.joined();
    }

    /** How often memory was added. */
    int growths() {
        return supplied;
    }

    /** All that was supplied came back, once. */
    void verifyNothingIsLeft() {
        require(supplied == returned, supplied + " regions supplied, " + returned + " came back");
        require(connection.memory().bytes() == 0, "bytes left");
    }

    private boolean tryWrite() throws SocketException {
        if (closed || cutOff) {
            return false;
        }
        if (ownLength > 0) {
            return tryWriteOwn();
        }
        if (written == plan.bytes()) {
            return false;
        }
        if (random.nextInt(4) == 0) {
            return beginOwn();
        }
        int length = (int) Math.min(1 + random.nextInt(plan.mostPerCall()), plan.bytes() - written);
        int offset = random.nextInt(buffer.length - length + 1);
        boolean ready = connection.writable();
        if (ready) {
            StreamPeer.fill(buffer, offset, length, writeSeed, written);
        }
        try {
            int taken = connection.write(buffer, offset, length);
            require((taken > 0) == ready, "writable " + ready + ", taken " + taken);
            written += taken;
            return taken > 0;
        } catch (SocketException e) {
            require(ready, "not writable, but " + e);
            cutOff(e);
            return true;
        }
    }

    /** Begins to send from memory of the application. */
    private boolean beginOwn() throws SocketException {
        ownTaken = 0;
        ownLength = (int) Math.min(1 + random.nextInt(plan.mostPerCall()), plan.bytes() - written);
        StreamPeer.fill(buffer, 0, ownLength, writeSeed, written);
        MemorySegment.copy(buffer, 0, own.segment(), ValueLayout.JAVA_BYTE, 0, ownLength);
        try {
            take(connection.directSender().write(own, 0, ownLength));
        } catch (SocketException e) {
            cutOff(e);
        }
        return true;
    }

    private void take(int count) {
        ownTaken += count;
        written += placing ? 0 : count;
    }

    private boolean tryMap() {
        if (closed || cutOff || announced) {
            return false;
        }
        try {
            if (mapping == null) {
                mapping = MemoryMapper.of(connection);
                mapping.reserve(MAP_OFFSET, Long.BYTES);
            }
            announced = mapping.announce(0, mapped);
            return announced;
        } catch (SocketException e) {
            mapping = null; // the other end takes none, or the connection is over
            return false;
        }
    }

    /** Begins to leave at the other end how much was written to the stream, if it has mapped memory for that. */
    private boolean tryPlace() {
        if (closed || cutOff || ownLength > 0) {
            return false;
        }
        own.segment().set(ValueLayout.JAVA_LONG, 0, written);
        try {
            ownTaken = connection.directSender().place(MAP_OFFSET, own, 0, Long.BYTES);
        } catch (SocketException e) {
            return false; // nothing is mapped, or tryWrite will meet the end of the connection as well
        }
        ownLength = Long.BYTES;
        placing = true;
        return true;
    }

    /** Checks that a value that was placed before a byte was written is here when that byte has been read. */
    private void verifyPlaced() {
        if (partner != null && read > partner.placed) {
            long there = mapped.segment().get(ValueLayout.JAVA_LONG, 0);
            require(there >= partner.placed, there + " was placed, and then " + partner.placed);
        }
    }

    /** How often this end has left something at the other. */
    int placements() {
        return placements;
    }

    /** Goes on with that, and when nothing is said to read from the memory any more, changes it. */
    private boolean tryWriteOwn() throws SocketException {
        boolean ready = connection.writable();
        boolean changed;
        try {
            if (ownTaken < ownLength) {
                int count = placing
                        ? connection.directSender().place(MAP_OFFSET + ownTaken, own, ownTaken, ownLength - ownTaken)
                        : connection.directSender().write(own, ownTaken, ownLength - ownTaken);
                take(count);
                changed = count > 0;
            } else {
                changed = connection.directSender().isSent();
                if (changed) {
                    endOwn();
                }
            }
            require(changed == ready || ownLength == 0, "writable " + ready + ", changed " + changed);
        } catch (SocketException e) {
            require(ready, "not writable, but " + e);
            cutOff(e);
            changed = true;
        }
        return changed;
    }

    private void endOwn() {
        if (placing) {
            placed = own.segment().get(ValueLayout.JAVA_LONG, 0);
            placements++;
        }
        own.segment().fill((byte) '?');
        ownLength = 0;
        placing = false;
    }

    private void cutOff(SocketException e) {
        require(connection.peerDisconnected() || connection.failure() != null, e + " without a reason");
        cutOff = true;
    }

    private boolean tryRead() throws SocketException {
        if (closed) {
            return false;
        }
        if (viewed > 0) {
            endView();
            return true;
        }
        if (random.nextInt(4) == 0) {
            return tryView();
        }
        boolean ready = connection.readable();
        int length = 1 + random.nextInt(buffer.length);
        int available = connection.available();
        int count = connection.read(buffer, 0, length);
        require((count != 0) == ready, "readable " + ready + ", read " + count);
        require(count == Math.min(length, available) || available == 0, "available " + available + ", read " + count);
        if (count < 0) {
            return end();
        }
        require(count == 0 || !sawEnd, count + " bytes after the end");
        StreamPeer.verify(buffer, count, readSeed, read);
        read += count;
        verifyPlaced();
        return count > 0;
    }

    private boolean end() {
        boolean changed = !sawEnd;
        sawEnd = true;
        return changed;
    }

    /** Looks at what is there, and keeps looking until the next call. */
    private boolean tryView() throws SocketException {
        boolean ready = connection.readable();
        int available = connection.available();
        int count = connection.view();
        require((count != 0) == ready, "readable " + ready + ", viewed " + count);
        if (count < 0) {
            return end();
        }
        require(count <= available && connection.available() == available - count, "available " + available);
        viewed = count;
        if (count > 0) {
            verifyView();
        }
        return count > 0;
    }

    private void endView() {
        verifyView();
        connection.endView();
        read += viewed;
        viewed = 0;
        verifyPlaced();
    }

    private void verifyView() {
        byte[] bytes = ((SimulatedRegion) connection.viewedRegion()).at(connection.viewedRegion().address()
                + connection.viewedOffset(), viewed).toArray(ValueLayout.JAVA_BYTE);
        StreamPeer.verify(bytes, viewed, readSeed, read);
    }

    private boolean close() {
        boolean allWritten = cutOff || written == plan.bytes() && ownLength == 0;
        if (closed || !allWritten) {
            return false;
        }
        if (plan.ending() == Ending.CLOSE || sawEnd) {
            closed = true;
            connection.disconnect();
            return true;
        }
        if (plan.ending() == Ending.HALF_CLOSE && !shut) {
            shut = true;
            connection.shutdownOutput();
            return true;
        }
        return false;
    }

    private void require(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what + " in " + connection);
        }
    }

    @Override
    public boolean isDone() {
        return gone;
    }

    @Override
    public long written() {
        return written;
    }

    @Override
    public long read() {
        return read;
    }

    @Override
    public boolean sawEnd() {
        return sawEnd;
    }

    @Override
    public String toString() {
        return "Java " + plan + " written=" + written + " read=" + read + (sawEnd ? " sawEnd" : "")
                + (cutOff ? " cutOff" : "") + (closed ? " closed" : "") + ": " + connection;
    }
}
