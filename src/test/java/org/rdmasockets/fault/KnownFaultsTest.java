package org.rdmasockets.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmasockets.fault.InjectedFault.Side;

/**
 * {@code OutOfMemoryError}s at every point of the methods where one has cost more than the connection in hand, or has
 * left its peer waiting; most of them in bursts, as no error comes alone when there is no memory. Faults that
 * {@link FaultCampaign} has found belong here.
 */
@Timeout(300)
class KnownFaultsTest {
    private static final long SEED = 26;
    private static final int BURST = 12;

    private static FaultCampaign campaign;

    @BeforeAll
    static void start() throws Exception {
        campaign = new FaultCampaign(SEED);
        assertTrue(campaign.start(true), () -> "" + campaign.complaints());
    }

    @AfterAll
    static void stop() throws Exception {
        campaign.stop();
        campaign.close();
    }

    @Test
    void aRequestThatCannotBeTakenInIsRefusedAndTheLinkStays() throws Exception {
        costsThatConnectionAlone(true, Side.LIBRARY, "LinkDispatcher\\.(onConnect|register|offer|lose|sendRejection)",
                BURST);
    }

    @Test
    void aConnectionOverTcpThatCannotBeTakenIsClosed() throws Exception {
        costsThatConnectionAlone(true, Side.LIBRARY, "connection/Tcp(Connection\\.<init>|Listener\\.acceptOne)", 0);
    }

    @Test
    void aConnectionThatConnectCannotReturnIsReset() throws Exception {
        costsThatConnectionAlone(false, Side.CALLER, "selection/Connector\\.(connect|connectAuto|attempt|log|because)",
                0);
    }

    @Test
    void aShardThatHadAnEventIsLookedAtAfterAnError() throws Exception {
        costsThatConnectionAlone(true, Side.LIBRARY, "CompletionPoller\\.serviceShards", 2);
        costsThatConnectionAlone(false, Side.LIBRARY, "CompletionPoller\\.serviceShards", 2);
    }

    @Test
    void aConnectionThatCannotBeQueuedIsEndedAndGivesItsPlaceBack() throws Exception {
        costsThatConnectionAlone(true, Side.LIBRARY, "connection/(VerbsListener|AcceptQueue|Arrival)\\.", 0);
    }

    @Test
    void aConnectionThatFailsAtItsStartEndsAtBothEnds() throws Exception {
        costsThatConnectionAlone(false, Side.CALLER, "connection/VerbsConnection\\.start|verbs/QueuePairAttributes\\.<",
                2);
        costsThatConnectionAlone(true, Side.LIBRARY, "connection/VerbsConnection\\.(start|<init>)", 2);
    }

    @Test
    void aCallOfTheKernelThatThrowsOnAThreadOfTheLibraryCostsThatConnectionAlone() throws Exception {
        costsThatConnectionAlone(true, Side.LIBRARY, "ffi/NativeFunction\\.", 0);
        costsThatConnectionAlone(false, Side.LIBRARY, "ffi/NativeFunction\\.", 0);
    }

    @Test
    void entriesBehindOneThatWasLostAreLeftOut() throws Exception {
        costsThatConnectionAlone(true, Side.LIBRARY, "RemotePeer\\.on|sharedmemory/ReceiveQueue\\.", 0);
    }

    @Test
    void whatCannotBeSaidAtTheEndOfAConnectionIsSaidLater() throws Exception {
        costsThatConnectionAlone(true, Side.LIBRARY, "SharedMemoryProtectionDomain\\.share|"
                + "SharedMemoryIdentifier\\.(establish|leavePartner|tellPartner|offer|deliver|leaveTable)|"
                + "ConnectData\\.(en|de)code", BURST);
        costsThatConnectionAlone(false, Side.CALLER, "connection/Dialer\\.(abandon|destroy)|VerbsConnection\\.start|"
                + "SharedMemoryIdentifier\\.(leavePartner|tellPartner)", BURST);
    }

    @Test
    void aThreadThatCannotBeWokenAsUsualIsWokenOtherwise() throws Exception {
        costsThatConnectionAlone(true, Side.CALLER, "ffi/NativeFunction\\.|CompletionPoller\\.(relay|unpark)", 0);
        costsThatConnectionAlone(false, Side.CALLER, "ffi/NativeFunction\\.|CompletionPoller\\.(relay|unpark)", 0);
    }

    @Test
    void aConnectionGivesItsMemoryBackWhateverIsThrown() throws Exception {
        String ends = "link/Slabs\\.|SharedMemoryRegion\\.|SharedMemoryProtectionDomain\\.|StreamTransport\\.(allocate|"
                + "close|end)|StreamMemory\\.take|VerbsConnection\\.(destroy|end|release)";
        costsThatConnectionAlone(true, Side.LIBRARY, ends, 0);
        costsThatConnectionAlone(true, Side.CALLER, ends, 1);
    }

    @Test
    void theSocketOfALinkIsClosedWhateverIsThrown() throws Exception {
        String place = "ffi/(PacketSocket\\.(accept|free|peer|closed)|Closer\\.)|link/(IncomingLink|LinkListener)\\.|"
                + "LinkHub\\.(welcome|admit|excess|dropped|arrived)";
        for (int i = 0; i < 4; i++) { // a loss in each round exceeds what may be held
            costsThatConnectionAlone(true, Side.LIBRARY, place, 0);
        }
    }

    /** In new processes, as two that know each other do not dial again. */
    @Test
    void aDialThatFindsNoMemoryEndsForWhoeverWaits() throws Exception {
        costsTheFirstConnectionsAlone(Side.LIBRARY, false, "link/LinkConnector\\.(ready|finish)");
    }

    /** With no connection yet, nothing else comes by and looks again. */
    @Test
    void aFirstRequestThatFindsNoMemoryIsTakenUpAgain() throws Exception {
        costsTheFirstConnectionsAlone(Side.LIBRARY, true, "connection/VerbsListener\\.(onEvent|takeNext|acceptNext)");
    }

    @Test
    void aReaderThatLacksAClassLeavesNoLockBehind() throws Exception {
        costsTheFirstConnectionsAlone(Side.LOADING, true, "waiting/CompletionInbox\\.(awaitAndEnter|spin)");
    }

    private static void costsTheFirstConnectionsAlone(Side side, boolean serves, String place) throws Exception {
        int before = campaign.complaints().size();
        assertTrue(campaign.throwInNewProcesses(side, serves, Pattern.compile(place),
                side == Side.LOADING ? 0 : BURST) > 0, "no point is " + place);
        assertEquals(List.of(), campaign.complaints().subList(before, campaign.complaints().size()));
    }

    @Test
    void anEndpointThatCannotBeReturnedEndsAtBothEnds() throws Exception {
        FaultCampaign endpoints = new FaultCampaign(SEED);
        try {
            assertTrue(endpoints.start(false), () -> "" + endpoints.complaints());
            endpoints.serveEndpoints();
            Pattern place = Pattern.compile("endpoint/(RdmaEndpoint(Server|Builder)?\\.(<init>|over|acc|conn)"
                    + "|MessageReassembler\\.<)");
            int found = endpoints.throwAt(true, Side.CALLER, place, 0)
                    + endpoints.throwAt(false, Side.CALLER, place, 0);
            assertTrue(found > 2, "only so many points: " + found);
            assertEquals(List.of(), endpoints.complaints());
        } finally {
            endpoints.stop();
            endpoints.close();
        }
    }

    @Test
    void aCallThatIsCutShortEndsAtBothEnds() throws Exception {
        FaultCampaign calls = new FaultCampaign(SEED);
        try {
            assertTrue(calls.start(false) && calls.serveCalls(), () -> "" + calls.complaints());
            calls.onlyCalls();
            Pattern greets = Pattern.compile("ServerConnection\\.serve.*ByteBuffer\\.arr");
            int found = calls.throwAt(true, Side.LIBRARY, Pattern.compile("SessionHub\\.confirm"), BURST)
                    + calls.throwAt(true, Side.LIBRARY, greets, BURST)
                    + calls.throwAt(false, Side.CALLER, Pattern.compile("ChannelCall\\.tellClose"), BURST);
            assertTrue(found > 4, "only so many points: " + found);
            assertEquals(List.of(), calls.complaints());
        } finally {
            calls.stop();
            calls.close();
        }
    }

    private static void costsThatConnectionAlone(boolean serves, Side side, String place, int burst) throws Exception {
        int before = campaign.complaints().size();
        int found = campaign.throwAt(serves, side, Pattern.compile(place), burst);
        assertTrue(found > 0, "no point is named " + place);
        campaign.nothingIsLeft();
        assertEquals(List.of(), campaign.complaints().subList(before, campaign.complaints().size()));
    }
}
