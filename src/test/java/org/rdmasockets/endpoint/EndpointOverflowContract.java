package org.rdmasockets.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.contract.Await;
import org.rdmasockets.contract.Call;

/** Callers that use an endpoint until their stack overflows, and catch that: nothing else is harmed. */
abstract class EndpointOverflowContract extends EndpointContract {
    private static final int OVERFLOWS = 4;
    /** On a device each call is a system call, and there are as many as a stack has frames. */
    private static final int SECONDS = 300;
    private static final int BYTES = 64;
    /** Stack of a thread that overflows soon: most of its frames are within what {@code StackRoom} asks for. */
    private static final long STACK_BYTES = 192 << 10;

    /** Uses an endpoint at any depth. */
    @FunctionalInterface
    private interface Use {
        void once() throws Exception;
    }

    /** The use that a caller makes of the client's end; it succeeds, whatever other connections do. */
    private enum Way {
        SEND {
            @Override
            Use of(RdmaEndpoint end, LocalRegion there) throws Exception {
                LocalRegion region = end.allocate(BYTES);
                return () -> end.send(region);
            }
        },
        BEGIN_AND_LOOK {
            @Override
            Use of(RdmaEndpoint end, LocalRegion there) throws Exception {
                LocalRegion region = end.allocate(BYTES);
                return () -> {
                    Pending<Void> send = end.startSend(region);
                    while (!send.isDone()) {
                        Thread.onSpinWait();
                    }
                };
            }
        },
        WRITE_AND_READ {
            @Override
            Use of(RdmaEndpoint end, LocalRegion there) throws Exception {
                LocalRegion region = end.allocate(BYTES);
                RemoteRegion remote = there.remote();
                return () -> {
                    end.write(region, remote);
                    end.read(region, remote);
                };
            }
        },
        SCOPE {
            @Override
            Use of(RdmaEndpoint end, LocalRegion there) throws Exception {
                LocalRegion region = end.allocate(BYTES);
                return () -> {
                    try (OperationScope scope = new OperationScope()) {
                        scope.add(end.startWrite(region, there.remote()));
                        scope.add(end.startWrite(region, there.remote()));
                    }
                };
            }
        },
        ALLOCATE {
            @Override
            Use of(RdmaEndpoint end, LocalRegion there) {
                return () -> {
                    end.allocate(BYTES).close();
                };
            }
        },
        LEASE {
            @Override
            Use of(RdmaEndpoint end, LocalRegion there) {
                return () -> end.requestRemote(BYTES).close();
            }
        };

        abstract Use of(RdmaEndpoint end, LocalRegion there) throws Exception;
    }

    private static int deeper(Use use) throws Exception {
        use.once();
        return deeper(use) + 1;
    }

    private static int overflows(Use use) throws Exception {
        int overflows = 0;
        while (overflows < OVERFLOWS) {
            try {
                deeper(use);
            } catch (StackOverflowError e) {
                overflows++;
            }
        }
        return overflows;
    }

    /** Starts something in a thread with a small stack. */
    private static <T> Call<T> startShallow(String what, Callable<T> body) {
        FutureTask<T> task = new FutureTask<>(body);
        Thread thread = new Thread(null, task, what, STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
        return start("end of " + what, task::get);
    }

    private static void talk(Pair pair, int times) throws Exception {
        LocalRegion region = pair.client().allocate(BYTES);
        for (int i = 0; i < times; i++) {
            // Not by its segment, whose end stops all threads.
            MemorySegment.copy(random(BYTES, i), 0, region.memory(), ValueLayout.JAVA_BYTE, 0, BYTES);
            pair.client().send(region, i);
            try (Message message = pair.server().receive(PATIENCE)) {
                assertEquals(i, message.immediate().orElseThrow());
                assertEquals(-1, message.region().memory().mismatch(region.memory()));
            }
        }
        region.close();
    }

    /** Traffic beside the overflows, on a connection of its own. */
    private Call<Void> bystanders(Call<?> until) throws Exception {
        Pair pair = connect();
        return run("bystanders", () -> {
            while (!until.isDone()) {
                talk(pair, 20);
            }
            talk(pair, 20);
        });
    }

    /** The connection in hand goes on, and so does everything else. */
    private void assertServes(Pair pair) throws Exception {
        talk(pair, 10);
        talk(connect(), 10);
    }

    /** Receives until the end. */
    private static Call<Void> drain(RdmaEndpoint end) {
        return run("drain", () -> {
            while (true) {
                end.receive().close();
            }
        });
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void aCallerThatOverflowsHarmsNobody(Way way) throws Exception {
        Pair pair = connect(builder().answerTimeout(PATIENCE), builder());
        Use use = way.of(pair.client(), open(pair.server(), BYTES));
        RdmaEndpoint other = pair.server();
        Call<Void> drained = way == Way.SEND || way == Way.BEGIN_AND_LOOK ? drain(other) : null;
        Call<Integer> caller = startShallow(way.name(), () -> overflows(use));
        Call<Void> bystanders = bystanders(caller);
        assertEquals(OVERFLOWS, caller.result(SECONDS));
        bystanders.result();
        if (drained == null) {
            assertServes(pair);
        } else {
            assertServes(new Pair(other, pair.client()));
            pair.client().close();
            drained.failure(EndpointException.class);
        }
    }

    /** A recursive parser that receives a message at each step. */
    @Test
    void aReceiverThatOverflowsHarmsNobody() throws Exception {
        Pair pair = connect();
        LocalRegion region = pair.client().allocate(BYTES);
        Call<Integer> parser = startShallow("parse", () -> overflows(() -> pair.server().receive().close()));
        Call<Void> sender = run("send", () -> {
            while (!parser.isDone()) {
                pair.client().send(region);
            }
        });
        Call<Void> bystanders = bystanders(parser);
        assertEquals(OVERFLOWS, parser.result(SECONDS));
        bystanders.result();
        Call<Void> drained = drain(pair.server());
        sender.result();
        pair.client().send(region);
        assertServes(new Pair(pair.server(), pair.client()));
        pair.client().close();
        drained.failure(EndpointException.class);
    }

    /** Also one who waits in vain, with the memory that he waits for, and closes at the end of his stack. */
    @Test
    void whoWaitsAndClosesAtTheEndOfTheStackHarmsNobody() throws Exception {
        Pair pair = connect();
        Call<Integer> caller = startShallow("wait", () -> overflows(() -> {
            try {
                pair.client().receiveImmediate(Duration.ofNanos(1));
            } catch (SocketTimeoutException e) {
                return;
            }
        }));
        assertEquals(OVERFLOWS, caller.result(SECONDS));
        assertServes(pair);
        List<RdmaEndpoint> closed = new ArrayList<>();
        for (int i = 0; i < OVERFLOWS; i++) {
            closed.add(connect().client());
        }
        startShallow("close", () -> {
            for (RdmaEndpoint one : closed) {
                LocalRegion region = one.allocate(BYTES);
                assertThrows(StackOverflowError.class, () -> closeDeep(() -> {
                    region.close();
                    one.close();
                }));
            }
            return null;
        }).result(SECONDS);
        for (RdmaEndpoint one : closed) {
            Await.until("it is closed", () -> {
                try {
                    one.sendImmediate(1);
                    return false;
                } catch (EndpointException e) {
                    return e.reason() == EndpointException.Reason.CLOSED;
                }
            });
        }
        assertServes(pair);
    }

    /** Tries to close at each depth, the deepest first. */
    private static void closeDeep(Use close) throws Exception {
        try {
            closeDeep(close);
        } finally {
            close.once();
        }
    }
}
