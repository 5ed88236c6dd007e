package org.rdmasockets.internal.connection;

import java.net.InetSocketAddress;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * Events of connections for the JDK's Flight Recorder. Until something is recorded no event class is loaded, no object
 * made and no clock read.
 */
public final class FlightEvents {
    private static final boolean PRESENT = isPresent();

    private FlightEvents() {}

    /** Whether this JVM has a recorder. The layer of the agent does not read it by itself. */
    private static boolean isPresent() {
        Module recorder = ModuleLayer.boot().findModule("jdk.jfr").orElse(null);
        if (recorder != null) {
            FlightEvents.class.getModule().addReads(recorder);
        }
        return recorder != null;
    }

    private static boolean areWanted() {
        return PRESENT && FlightRecorder.isInitialized();
    }

    /** Begins to record a connect; null if nothing is recorded. */
    public static Object connecting() {
        return areWanted() ? Recorded.connecting() : null;
    }

    /** Records that it has led to a connection, over a transport and for a reason. */
    public static void connected(Object begun, String transport, InetSocketAddress local, InetSocketAddress remote,
            String reason) {
        Recorded.connected(begun, transport, local, remote, reason);
    }

    /** Records that it has failed. */
    public static void connectFailed(Object begun, InetSocketAddress remote, Throwable failure) {
        Recorded.connectFailed(begun, remote, failure);
    }

    /** Records that a connect goes on to the next transport. */
    public static void passedOver(String transport, InetSocketAddress remote, String reason) {
        if (areWanted()) {
            Recorded.passedOver(transport, remote, reason);
        }
    }

    /** Records a connection that was accepted. */
    public static void accepted(String transport, InetSocketAddress local, InetSocketAddress remote) {
        if (areWanted()) {
            Recorded.accepted(transport, local, remote);
        }
    }

    /** Records that a connection has failed. */
    public static void failed(String transport, InetSocketAddress local, InetSocketAddress remote, String cause) {
        if (areWanted()) {
            Recorded.failed(transport, local, remote, cause);
        }
    }

    /** The events, apart from the questions above: only a recording loads them. */
    private static final class Recorded {
        private static final String CATEGORY = "RDMA Sockets";

        private Recorded() {}

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

        @Name("org.rdmasockets.Connect")
        @Label("RDMA Connect")
        @Category(CATEGORY)
        @Description("A connect by RdmaSocket, over the transport that was chosen and for the reason given, or in vain")
        private static final class Connect extends AddressedEvent {
            @Label("Reason")
            String reason;
            @Label("Failure")
            String failure;
        }

        @Name("org.rdmasockets.TransportPassedOver")
        @Label("RDMA Transport Passed Over")
        @Category(CATEGORY)
        @Description("A connect tried this transport in vain, or knew that it would, and went on to the next one")
        private static final class PassedOver extends AddressedEvent {
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

        static Object connecting() {
            Connect event = new Connect();
            event.begin();
            return event;
        }

        static void connected(Object begun, String transport, InetSocketAddress local, InetSocketAddress remote,
                String reason) {
            Connect event = (Connect) begun;
            event.ends(transport, local, remote);
            event.reason = reason;
            event.commit();
        }

        static void connectFailed(Object begun, InetSocketAddress remote, Throwable failure) {
            Connect event = (Connect) begun;
            event.ends(null, null, remote);
            event.failure = failure.toString();
            event.commit();
        }

        static void passedOver(String transport, InetSocketAddress remote, String reason) {
            PassedOver event = new PassedOver();
            event.ends(transport, null, remote);
            event.reason = reason;
            event.commit();
        }

        static void accepted(String transport, InetSocketAddress local, InetSocketAddress remote) {
            Accept event = new Accept();
            event.ends(transport, local, remote);
            event.commit();
        }

        static void failed(String transport, InetSocketAddress local, InetSocketAddress remote, String cause) {
            Failed event = new Failed();
            event.ends(transport, local, remote);
            event.cause = cause;
            event.commit();
        }
    }
}
