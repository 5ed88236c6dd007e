package org.rdmasockets.internal.waiting;

import java.util.ArrayList;
import java.util.List;

/**
 * A few threads that meet on the way of a wake-up, for {@link Explorer}: the poller, and those of {@link #begin}.
 * Public for its class loader.
 */
public final class WaitScenario implements Explorer.Scenario {
    private final String name;
    private final TestClient client = new TestClient();
    private final TestClient other = new TestClient();
    private final List<String> faults = new ArrayList<>();
    private Explorer explorer;
    private CompletionInbox inbox;
    private CompletionInbox second;
    /** How often the client was told. */
    private int told;
    /** How often it must be in the end, unless a thread has applied all. */
    private int tellings;

    /** One of the scenarios of {@link #begin}. */
    public WaitScenario(String name) {
        this.name = name;
    }

    @Override
    public void setUp(Explorer one) throws Exception {
        explorer = one;
        SimulatedEvents events = new SimulatedEvents();
        SimulatedDevice device = new SimulatedDevice(events, name.startsWith("post"));
        PollerSettings settings = new PollerSettings("poller", name.contains("full batch") ? 1 : 16, 0, 1, 500,
                name.equals("relay"), 16, 16);
        CompletionPoller poller = new CompletionPoller(events, settings);
        inbox = poller.openInbox(device, ConnectionRole.ACTIVE, client, 4);
        second = poller.openInbox(device, ConnectionRole.ACTIVE, other, 4);
        explorer.name(inbox, "first");
        explorer.name(second, "second");
        if (name.startsWith("unarmed")) {
            // A leader and no parked thread: the poller leaves the queue unarmed.
            inbox.shard().lead(inbox, 1);
            Fixture.send(second, 1);
        } else if (name.equals("leave") || name.equals("shared")) {
            client.readerNeeds = 2;
            waits("writer", inbox, Role.WRITER, WaitResult.READY);
        } else if (name.equals("relay") || name.endsWith(" fails")) {
            waits("reader", inbox, Role.READER, WaitResult.READY);
        } else if (name.equals("idle")) {
            client.backlog = () -> told++;
            inbox.tellAll();
        } else if (name.equals("told")) {
            client.creditOwed = true;
            client.backlog = () -> told++;
            client.applied(inbox);
            Fixture.send(inbox, 1);
        }
    }

    @Override
    public void begin() {
        switch (name) {
            case "offer/park" -> {
                waits("reader", inbox, Role.READER, WaitResult.READY);
                completes(inbox);
            }
            case "token/park" -> {
                waits("reader", inbox, Role.READER, WaitResult.READY);
                explorer.start("offerer", () -> inbox.offerToken("token"));
            }
            case "close/park" -> {
                waits("reader", inbox, Role.READER, WaitResult.CLOSED);
                explorer.start("closer", inbox::close);
            }
            case "fail/park" -> {
                client.readerNeeds = 2; // but a failure is enough
                waits("reader", inbox, Role.READER, WaitResult.READY);
                explorer.start("failing", () -> inbox.fail(new IllegalStateException()));
            }
            case "lead/park" -> {
                waits("reader", inbox, Role.READER, WaitResult.READY);
                waits("leader", second, Role.READER, WaitResult.READY);
                together(inbox, second);
            }
            case "relay", "wake fails" -> {
                if (name.equals("wake fails")) {
                    explorer.failUnpark();
                }
                explorer.start("leader", () -> second.poll());
                completes(inbox);
            }
            case "event/park", "post" -> {
                waits("reader", inbox, Role.READER, WaitResult.READY);
                completes(second);
            }
            case "unarmed" -> {
                waits("reader", inbox, Role.READER, WaitResult.READY);
                completes(inbox);
            }
            case "unarmed, full batch" -> {
                waits("reader", inbox, Role.READER, WaitResult.READY);
                together(second, second, inbox);
            }
            case "event, full batch" -> {
                waits("reader", inbox, Role.READER, WaitResult.READY);
                completes(second);
                together(second, inbox);
            }
            case "post, full batch" -> {
                waits("reader", inbox, Role.READER, WaitResult.READY);
                completes(second);
                explorer.start("device 2", () -> complete(inbox));
            }
            case "post fails" -> explorer.start("device", this::failToPoll);
            default -> beginWithTwoRoles();
        }
    }

    /** The scenarios in which more than the reader is to be told. */
    private void beginWithTwoRoles() {
        switch (name) {
            case "shared" -> {
                waits("reader", inbox, Role.READER, WaitResult.READY);
                completes(inbox, inbox);
            }
            case "leave" -> {
                explorer.start("reader", () -> inbox.await(Role.READER, 0));
                completes(inbox);
            }
            case "credit" -> {
                waits("reader", inbox, Role.READER, WaitResult.READY);
                explorer.start("owing", () -> {
                    inbox.enter();
                    client.creditOwed = true;
                    inbox.exit();
                });
                sends();
            }
            case "orphan" -> {
                tellings = 1;
                client.backlog = () -> told++;
                explorer.start("closer", inbox::tellAll);
                explorer.start("offerer", () -> inbox.offerToken("token"));
            }
            case "idle" -> {
                tellings = 1;
                completes(inbox);
            }
            case "told" -> {
                tellings = 2;
                explorer.start("taker", () -> client.applied(inbox));
                sends();
            }
            default -> throw new IllegalArgumentException(name);
        }
    }

    /** A thread that waits without a deadline, and ends as it should. */
    private void waits(String who, CompletionInbox where, Role role, WaitResult expected) {
        explorer.start(who, () -> {
            WaitResult end = where.await(role, Long.MAX_VALUE);
            if (end != expected) {
                faults.add(who + " ends " + end);
            }
        });
    }

    /** A post makes an event, and the thread that handles it throws when it polls. */
    private void failToPoll() {
        Thread me = Thread.currentThread();
        Fixture.queueOf(inbox).beforePolling(() -> {
            if (Thread.currentThread() == me) {
                throw new StackOverflowError("a test's");
            }
        });
        try {
            complete(inbox);
        } catch (StackOverflowError e) {
            return; // as it should
        }
        faults.add("no error");
    }

    private static void complete(CompletionInbox one) {
        Explorer.device();
        Fixture.receive(one, 1);
    }

    /** The device completes a receive of each of these, one after the other. */
    private void completes(CompletionInbox... inboxes) {
        explorer.start("device", () -> List.of(inboxes).forEach(WaitScenario::complete));
    }

    /** The device completes a receive of each of these at one time. */
    private void together(CompletionInbox... inboxes) {
        explorer.start("device of many", () -> {
            Explorer.device();
            List.of(inboxes).forEach(one -> Fixture.receive(one, 1));
        });
    }

    private void sends() {
        explorer.start("device", () -> {
            Explorer.device();
            Fixture.send(inbox, 2);
        });
    }

    @Override
    public void end() {
        if (name.equals("event/park") || name.equals("post")) {
            completes(inbox);
        }
    }

    @Override
    public String fault() {
        boolean taken = inbox.toString().contains("empty=true") && Fixture.queueOf(inbox).waiting() == 0;
        if (told < tellings && !taken) {
            faults.add("told " + told + " times");
        }
        return faults.isEmpty() ? null : faults.toString();
    }
}
