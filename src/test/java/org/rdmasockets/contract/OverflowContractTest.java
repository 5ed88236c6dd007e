package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Callers that use a socket until their stack overflows, and catch that: nothing else is harmed. This holds for the
 * JDK's own TCP sockets, too, except for the socket in hand, whose next writer may wait for ever.
 */
@RunIn({Place.SHARED_MEMORY, Place.LINK, Place.TCP, Place.DEVICE})
class OverflowContractTest extends RdmaContract {
    private static final int OVERFLOWS = 12;
    /** Frames that fill the stack of a thread, as the interpreter makes them. */
    private static final int DEEP_ENOUGH = 5_000;
    /** On a device each write of a byte is a system call, and there are as many as a stack has frames. */
    private static final int WRITES_SECONDS = 300;
    private static final byte[] OPENING = "[".repeat(8_192).getBytes(StandardCharsets.US_ASCII);

    /** Uses a socket at any depth. */
    @FunctionalInterface
    private interface Use {
        void once() throws IOException;
    }

    /** Goes deeper at each use, as a recursive parser does, but not for ever. */
    private static int deeper(Use use, int left) throws IOException {
        use.once();
        return left == 0 ? 0 : deeper(use, left - 1) + 1;
    }

    /**
     * How often the stack overflowed, or went as deep as counts for that: whenever a virtual thread parks, its frames
     * go to the heap, and one that parks often enough has a stack as large as the heap. An exception of the socket
     * ends the count, too.
     */
    private static int overflows(Use use) {
        int overflows = 0;
        while (overflows < OVERFLOWS) {
            try {
                deeper(use, Thread.currentThread().isVirtual() ? DEEP_ENOUGH : Integer.MAX_VALUE);
                overflows++;
            } catch (StackOverflowError e) {
                overflows++;
            } catch (IOException e) {
                return overflows == 0 ? -1 : OVERFLOWS; // the connection in hand may break
            }
        }
        return overflows;
    }

    private static void echo(Socket from, Socket to, int times) throws IOException {
        for (int i = 0; i < times; i++) {
            from.getOutputStream().write(i);
            assertEquals(i & 0xFF, to.getInputStream().read());
            to.getOutputStream().write(i + 1);
            assertEquals(i + 1 & 0xFF, from.getInputStream().read());
        }
    }

    /** Traffic beside the overflows, on a connection of its own. */
    private Call<Void> others(ThreadKind kind, Call<?> until) throws IOException {
        SocketPair bystander = pair();
        return Call.run(kind, "bystanders", () -> {
            while (!until.isDone()) {
                echo(bystander.client(), bystander.server(), 100);
            }
            echo(bystander.client(), bystander.server(), 100);
        });
    }

    private void assertServes(ServerSocket listener) throws Exception {
        Call.run(ThreadKind.PLATFORM, "connect, echo, close", () -> {
            for (int i = 0; i < 3; i++) {
                Socket client = connectedTo(listener);
                echo(client, acceptFrom(listener), 10);
                client.close();
            }
        }).result();
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void aParserThatOverflowsHarmsNobodyElse(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        SocketPair pair = pair();
        InputStream in = pair.server().getInputStream();
        Call<Integer> parser = Call.start(kind, "parse", () -> overflows(() -> {
            if (in.read() < 0) {
                throw new IOException("the end");
            }
        }));
        Call<Void> sender = Call.run(ThreadKind.PLATFORM, "send", () -> {
            try {
                while (!parser.isDone()) {
                    pair.client().getOutputStream().write(OPENING);
                }
            } catch (IOException e) {
                return; // it was closed
            }
        });
        Call<Void> bystanders = others(kind, parser);
        assertEquals(OVERFLOWS, parser.result());
        bystanders.result();
        Call.run(kind, "close", pair.server()::close).result();
        sender.result();
        assertServes(listener);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void aWriterThatOverflowsLetsTheNextOneWrite(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        SocketPair pair = pair();
        OutputStream out = pair.client().getOutputStream();
        Call<Void> reader = Call.run(ThreadKind.PLATFORM, "read", () -> {
            try {
                byte[] bytes = new byte[8_192];
                while (pair.server().getInputStream().read(bytes) >= 0) {
                    continue;
                }
            } catch (IOException e) {
                return; // a connection that broke
            }
        });
        Call<Integer> writer = Call.start(kind, "write", () -> overflows(() -> out.write(1)));
        Call<Void> bystanders = others(kind, writer);
        assertEquals(OVERFLOWS, writer.result(WRITES_SECONDS));
        bystanders.result();
        Call.run(kind, "write after it", () -> {
            try {
                out.write(2);
            } catch (IOException e) {
                return; // the write may fail; it must end
            }
        }).result();
        Call.run(kind, "close", pair.client()::close).result();
        reader.result();
        assertServes(listener);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void whoAsksForOptionsAndBytesUntilItOverflowsHarmsNobody(ThreadKind kind) throws Exception {
        ServerSocket listener = listening();
        SocketPair pair = pair();
        Call<Integer> asker = Call.start(kind, "ask", () -> overflows(() -> {
            pair.client().setKeepAlive(!pair.client().getKeepAlive());
            pair.client().getInputStream().available();
        }));
        Call<Void> bystanders = others(kind, asker);
        assertEquals(OVERFLOWS, asker.result());
        bystanders.result();
        Call.run(kind, "echo, close", () -> {
            echo(pair.client(), pair.server(), 10);
            pair.client().close();
        }).result();
        assertServes(listener);
    }
}
