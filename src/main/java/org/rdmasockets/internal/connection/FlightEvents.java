package org.rdmasockets.internal.connection;

import java.net.InetSocketAddress;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Period;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import org.rdmasockets.internal.lock.Losses;
import org.rdmasockets.internal.lock.Rescues;

/**
 * Events of connections for the JDK's Flight Recorder. Until something is recorded no event class is loaded, no object
 * made and no clock read. Spins, bytes and losses are too frequent for an event each: they are counted anyway, and an
 * event each second has the counts.
 */
public final class FlightEvents {
    /** The steps of a connect over verbs: the place of each in what {@link #connected} takes, in nanoseconds. */
    static final int ROUTE = 0;
    static final int RESOURCES = 1;
    static final int ANSWER = 2;
    static final int START = 3;
    static final int STEPS = 4;

    private static final String CATEGORY = "RDMA Sockets";
    private static final boolean PRESENT = isPresent();
    /** The events of each second are set up, or are about to be; two threads may both do that. */
    private static volatile boolean watching;

    private FlightEvents() {}

    /** Whether this JVM has a recorder. The layer of the agent does not read it by itself. */
    private static boolean isPresent() {
        Module recorder = ModuleLayer.boot().findModule("jdk.jfr").orElse(null);
        if (recorder != null) {
            FlightEvents.class.getModule().addReads(recorder);
        }
        return recorder != null;
    }

    /** Whether something is recorded, or was. */
    static boolean areWanted() {
        return PRESENT && FlightRecorder.isInitialized();
    }

    /** Has the counts recorded from now on, if something is recorded. Poller threads too, at each tick. */
    static void watch() {
        if (!watching && areWanted()) {
            watching = true;
            boolean begun = false;
            try {
                SetupPool.SHARED.execute(FlightEvents::recordCounts);
                begun = true;
            } finally {
                watching = begun;
            }
        }
    }

    /** Begins to record a connect; null if nothing is recorded. */
    public static Object connecting() {
        if (!areWanted()) {
            return null;
        }
        watch();
        Connect event = new Connect();
        event.begin();
        return event;
    }

    /** Records that it has led to a connection, over a transport and for a reason; null for steps that are unknown. */
    public static void connected(Object begun, String transport, InetSocketAddress local, InetSocketAddress remote,
            String reason, long[] steps) {
        Connect event = (Connect) begun;
        event.ends(transport, local, remote);
        event.reason = reason;
        event.took(steps);
        event.commit();
    }

    /** Records that it has failed. */
    public static void connectFailed(Object begun, InetSocketAddress remote, Throwable failure, long[] steps) {
        Connect event = (Connect) begun;
        event.ends(null, null, remote);
        event.failure = failure.toString();
        event.took(steps);
        event.commit();
    }

    /** Begins to record what a connect does over one transport; null if nothing is recorded. */
    public static Object attempting() {
        if (!areWanted()) {
            return null;
        }
        PassedOver event = new PassedOver();
        event.begin();
        return event;
    }

    /** Records that the connect goes on to the next transport; the steps are those of the attempt, null for none. */
    public static void passedOver(Object begun, String transport, InetSocketAddress remote, String reason,
            long[] steps) {
        if (begun != null) {
            PassedOver event = (PassedOver) begun;
            event.ends(transport, null, remote);
            event.reason = reason;
            event.took(steps);
            event.commit();
        }
    }

    /** Records a connection that was accepted. */
    public static void accepted(String transport, InetSocketAddress local, InetSocketAddress remote) {
        if (areWanted()) {
            Accept event = new Accept();
            event.ends(transport, local, remote);
            event.commit();
        }
    }

    /** Records that a connection has failed. */
    public static void failed(String transport, InetSocketAddress local, InetSocketAddress remote, String cause) {
        if (areWanted()) {
            Failed event = new Failed();
            event.ends(transport, local, remote);
            event.cause = cause;
            event.commit();
        }
    }

    /** Begins to record that memory is made or registered; null if nothing is recorded. */
    static Object registering() {
        if (!areWanted()) {
            return null;
        }
        Registered event = new Registered();
        event.begin();
        return event;
    }

    /** Records that it was; never throws, for the caller has the memory now. */
    static void registered(Object begun, String transport, long bytes) {
        if (begun == null) {
            return;
        }
        try {
            Registered event = (Registered) begun;
            event.transport = transport;
            event.bytes = bytes;
            event.commit();
        } catch (Error e) {
            return; // the memory is there, and its event is lost
        }
    }

    /** Set-up pool: from now on the counts are recorded each second, and each rescue. */
    private static void recordCounts() {
        FlightRecorder.addPeriodicEvent(Counts.class, FlightEvents::count);
        FlightRecorder.addPeriodicEvent(Lost.class, FlightEvents::countLosses);
        Rescues.onEach(FlightEvents::rescued);
    }

    private static void count() {
        for (String transport : TransportStatistics.inUse()) {
            TransportStatistics now = TransportStatistics.of(transport);
            Counts event = new Counts();
            event.transport = transport;
            event.open = now.open();
            event.queuePairs = now.queuePairs();
            event.registered = now.registeredBytes();
            event.received = now.receivedBytes();
            event.sent = now.sentBytes();
            event.pollerWakeUps = now.pollerWakeUps();
            event.spinsInVain = now.spinsInVain();
            event.spunInVain = now.nanosSpunInVain();
            event.commit();
        }
    }

    private static void countLosses() {
        Lost event = new Lost();
        event.datagrams = Losses.datagrams();
        event.packets = Losses.packets();
        event.rescues = Rescues.count();
        event.commit();
    }

    private static void rescued(String place) {
        try {
            Rescued event = new Rescued();
            event.place = place;
            event.commit();
        } catch (Error e) {
            return; // the caller goes on to wake what it has found
        }
    }

    // The events. Only a recording loads them.

    /** An end of a connection: its transport and addresses. */
    private abstract static class AddressedEvent extends Event {
        @Label("Transport")
        String transport;
        @Label("Local Address")
        String local;
        @Label("Remote Address")
        String remote;

        void ends(String usedTransport, InetSocketAddress localEnd, InetSocketAddress remoteEnd) {
            transport = usedTransport;
            local = String.valueOf(localEnd);
            remote = String.valueOf(remoteEnd);
        }
    }

    /** A connect, and its steps where it goes over verbs; 0 for those that were not taken. */
    private abstract static class SteppedEvent extends AddressedEvent {
        @Label("Address and Route")
        @Timespan(Timespan.NANOSECONDS)
        long route;
        @Label("Memory and Queue Pair")
        @Timespan(Timespan.NANOSECONDS)
        long resources;
        @Label("Answer of the Peer")
        @Timespan(Timespan.NANOSECONDS)
        long answer;
        @Label("Start")
        @Timespan(Timespan.NANOSECONDS)
        long start;

        void took(long[] steps) {
            if (steps != null) {
                route = steps[ROUTE];
                resources = steps[RESOURCES];
                answer = steps[ANSWER];
                start = steps[START];
            }
        }
    }

    @Name("org.rdmasockets.Connect")
    @Label("RDMA Connect")
    @Category(CATEGORY)
    @Description("A connect by RdmaSocket, over the transport that was chosen and for the reason given, or in vain")
    private static final class Connect extends SteppedEvent {
        @Label("Reason")
        String reason;
        @Label("Failure")
        String failure;
    }

    @Name("org.rdmasockets.TransportPassedOver")
    @Label("RDMA Transport Passed Over")
    @Category(CATEGORY)
    @Description("A connect tried this transport in vain, or knew that it would, and went on to the next one")
    private static final class PassedOver extends SteppedEvent {
        @Label("Reason")
        String reason;
    }

    @Name("org.rdmasockets.Accept")
    @Label("RDMA Accept")
    @Category(CATEGORY)
    @Description("A connection came to an RdmaServerSocket and was accepted")
    @StackTrace(false)
    private static final class Accept extends AddressedEvent {}

    @Name("org.rdmasockets.ConnectionFailed")
    @Label("RDMA Connection Failed")
    @Category(CATEGORY)
    @Description("A connection over RDMA or shared memory ended otherwise than by a close of its ends")
    @StackTrace(false)
    private static final class Failed extends AddressedEvent {
        @Label("Cause")
        String cause;
    }

    @Name("org.rdmasockets.MemoryRegistered")
    @Label("RDMA Memory Registered")
    @Category(CATEGORY)
    @Description("Memory of a connection was registered: its first buffers, larger ones, or the program's own")
    private static final class Registered extends Event {
        @Label("Transport")
        String transport;
        @Label("Size")
        @DataAmount
        long bytes;
    }

    @Name("org.rdmasockets.RescuedWakeUp")
    @Label("RDMA Rescued Wake-Up")
    @Category(CATEGORY)
    @Description("A timer found what a wake-up should have told: a fault of the library that cost a delay")
    private static final class Rescued extends Event {
        @Label("Place")
        String place;
    }

    @Name("org.rdmasockets.TransportStatistics")
    @Label("RDMA Transport Statistics")
    @Category(CATEGORY)
    @Description("Use by the connections over a transport now, and their counts since the process began")
    @Period("1 s")
    @StackTrace(false)
    private static final class Counts extends Event {
        @Label("Transport")
        String transport;
        @Label("Open Connections")
        long open;
        @Label("Queue Pairs")
        long queuePairs;
        @Label("Registered Memory")
        @DataAmount
        long registered;
        @Label("Bytes Received")
        @DataAmount
        long received;
        @Label("Bytes Sent")
        @DataAmount
        long sent;
        @Label("Wake-Ups of the Poller")
        long pollerWakeUps;
        @Label("Waits That Spun in Vain")
        long spinsInVain;
        @Label("Time Spun in Vain")
        @Timespan(Timespan.NANOSECONDS)
        long spunInVain;
    }

    @Name("org.rdmasockets.LossStatistics")
    @Label("RDMA Loss Statistics")
    @Category(CATEGORY)
    @Description("Losses of this process since it began")
    @Period("1 s")
    @StackTrace(false)
    private static final class Lost extends Event {
        @Label("Datagrams without Room")
        long datagrams;
        @Label("Packets of Sessions Sent Again")
        long packets;
        @Label("Rescued Wake-Ups")
        long rescues;
    }
}
