package org.rdmasockets.internal.waiting;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Constructor;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * In no order of threads and of memory is a wake-up lost; without any one part of what the page of this package says,
 * in some order it is. The columns of the second table: what is wrong, the scenario, the method, its instruction and
 * which of several, and whether that comes too late instead of never. {@link Explorer} says how.
 */
@Timeout(120)
class LostWakeUpTest {
    private static String explore(String scenario, int bound, ExploredClasses.Fault fault) throws Exception {
        ExploredClasses classes = new ExploredClasses(fault);
        Constructor<?> maker = classes.loadClass(WaitScenario.class.getName()).getConstructor(String.class);
        String found = Explorer.explore(() -> (Explorer.Scenario) maker.newInstance(scenario), bound);
        assertTrue(fault == null || classes.isChanged(), () -> "there is no " + fault);
        return found;
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            offer/park           | 2
            token/park           | 3
            close/park           | 2
            fail/park            | 3
            lead/park            | 1
            relay                | 1
            event/park           | 1
            post                 | 1
            unarmed              | 1
            unarmed, full batch  | 1
            event, full batch    | 1
            post, full batch     | 1
            post fails           | 1
            wake fails           | 1
            shared               | 1
            leave                | 1
            credit               | 1
            orphan               | 3
            idle                 | 3
            told                 | 3
            """)
    void noneIsLost(String scenario, int bound) throws Exception {
        assertNull(explore(scenario, bound, null));
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', textBlock = """
            W1 after W4                  | offer/park | CompletionInbox.awaitAndEnter | thread              | 1 | true
            W2 after W3                  | event/park | CompletionShard.arrive        | incrementAndGet     | 1 | true
            no W3                        | unarmed    | CompletionInbox.awaitAndEnter | armIfNeeded         | 1 | false
            poll before arming           | unarmed    | CompletionShard.arm           | requestNotification | 1 | true
            one batch after arming       | unarmed, full batch | CompletionShard.armIfNeeded | drainRest    | 1 | false
            one batch after an event     | event, full batch | CompletionShard.service | drainRest          | 1 | false
            one batch after a post       | post, full batch | CompletionShard.takeEvent | drainRest         | 1 | false
            P2 after P3                  | event/park | CompletionShard.pollAndUnlock | armed               | 1 | true
            no P3                        | event/park | CompletionShard.pollAndUnlock | get                 | 1 | false
            no P5                        | offer/park | CompletionShard.pollAndUnlock | fullFence           | 1 | false
            no fence after a token       | token/park | CompletionInbox.wakeBoth      | fullFence           | 1 | false
            no wake after a failure      | fail/park  | CompletionInbox.fail          | wakeBoth            | 1 | false
            open after the waiters       | close/park | CompletionInbox.close         | open                | 1 | true
            the writer is not passed on  | shared     | CompletionInbox.exit          | wake                | 2 | false
            no entry after leaving       | leave      | CompletionInbox.awaitAndEnter | applyAllOrUnlock    | 1 | false
            no look after credit         | credit     | CompletionInbox.settleCredit  | applyAll            | 1 | false
            no fence after tellsAll      | orphan     | CompletionInbox.tellAll       | fullFence           | 1 | false
            no look after tellsAll       | orphan     | CompletionInbox.tellAll       | tell                | 1 | false
            a new queue is not armed     | idle       | DeviceShards.create           | armIfNeeded         | 1 | false
            looksAtAll is forgotten      | post fails | CompletionShard.pollAndUnlock | lookAtAll           | 1 | false
            looksAtAll after the wakeup  | post fails | CompletionPoller.lookAtAll    | looksAtAll          | 1 | true
            looksAtAll without wakeup    | post fails | CompletionPoller.lookAtAll    | wakeup              | 1 | false
            a failed wake is forgotten   | wake fails | CompletionShard.pollAndUnlock | lookAtAll           | 2 | false
            nobody is left behind        | wake fails | CompletionPoller.serviceShards | wakeLeftBehind     | 1 | false
            relay without wakeup         | relay      | CompletionPoller.relay        | wakeup              | 1 | false
            """)
    void isLostWithout(String what, String scenario, String method, String target, int nth, boolean late)
            throws Exception {
        assertNotNull(explore(scenario, 2, new ExploredClasses.Fault(method, target, nth, late)), what);
    }
}
