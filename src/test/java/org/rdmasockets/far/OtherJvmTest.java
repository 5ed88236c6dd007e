package org.rdmasockets.far;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;

/** The basis of a contract between two JVMs: answers, failures, kinds of threads, interrupts, and the end. */
class OtherJvmTest {
    private static OtherJvm other;

    @BeforeAll
    static void start() throws Exception {
        other = OtherJvm.start();
    }

    @AfterAll
    static void end() throws Exception {
        other.close();
    }

    @Test
    void aQuestionIsAnsweredByAnotherProcess() {
        Far<StringBuilder> text = other.make(nothing -> new StringBuilder("made in "));
        text.tell(builder -> builder.append(ProcessHandle.current().pid()));
        String answer = text.ask(builder -> builder.toString());
        assertTrue(answer.matches("made in \\d+"), answer);
        assertNotEquals("made in " + ProcessHandle.current().pid(), answer);
    }

    @Test
    void failuresComeBackAsTheyAre() {
        Far<String> text = other.make(nothing -> "text");
        StringIndexOutOfBoundsException there = assertThrows(StringIndexOutOfBoundsException.class,
                () -> text.ask(string -> string.charAt(9)));
        assertEquals(assertThrows(StringIndexOutOfBoundsException.class, () -> "text".charAt(9)).getMessage(),
                there.getMessage());
        String refusal = assertThrows(IllegalStateException.class, () -> text.ask(string -> new Object())).getMessage();
        assertTrue(refusal.contains("cannot be sent"), refusal);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void theKindOfThreadIsKept(ThreadKind kind) throws Exception {
        Far<Object> nothing = other.make(none -> "");
        boolean virtual = Call.start(kind, "ask", () -> nothing.ask(none -> Thread.currentThread().isVirtual()))
                .result();
        assertEquals(kind == ThreadKind.VIRTUAL, virtual);
    }

    @ParameterizedTest
    @EnumSource(ThreadKind.class)
    void anInterruptIsTakenThere(ThreadKind kind) throws Exception {
        Far<CountDownLatch> latch = other.make(nothing -> new CountDownLatch(1));
        Call<Boolean> wait = Call.start(kind, "wait", () -> latch.ask(l -> l.await(1, TimeUnit.HOURS)))
                .awaitBlocked();
        wait.interrupt();
        wait.failure(InterruptedException.class);
        assertFalse(wait.interruptedAtEnd(), "await() clears the status");
        Call<Boolean> before = Call.start(kind, "ask", () -> {
            Thread.currentThread().interrupt();
            return latch.ask(l -> Thread.currentThread().isInterrupted());
        });
        assertTrue(before.result());
        assertTrue(before.interruptedAtEnd(), "nobody has cleared the status");
    }

    @Test
    void callsEndWithTheProcess() throws Exception {
        OtherJvm mortal = OtherJvm.start();
        Far<CountDownLatch> latch = mortal.make(nothing -> new CountDownLatch(1));
        Call<Void> wait = Call.run(ThreadKind.VIRTUAL, "wait", () -> latch.tell(l -> l.await())).awaitBlocked();
        mortal.close();
        wait.failure(IllegalStateException.class);
        assertThrows(IllegalStateException.class, () -> latch.ask(l -> l.getCount()));
    }
}
