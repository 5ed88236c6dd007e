package org.rdmasockets.contract;

import java.io.IOException;
import java.net.InetAddress;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.rdmasockets.far.Holder;
import org.rdmasockets.far.OtherJvm;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.VerbsException;

/**
 * The parts of the verbs contract with two ends, over shared memory between two JVMs: the other one accepts. The rest
 * of the contract (devices, memory, manual connections, event pollers) is about one process; effects that only the
 * death of a process shows are in {@link BetweenProcessesTest}.
 */
class VerbsBetweenJvmsTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static OtherJvm other;

    @BeforeAll
    static void startTheOther() throws IOException {
        other = OtherJvm.start();
    }

    @AfterAll
    static void endTheOther() throws IOException {
        try {
            other.assertNoRescues();
        } finally {
            other.close();
        }
    }

    private static VerbsFixture here() {
        return new VerbsFixture(Providers.sharedMemory(), "sharedmemory", LOOPBACK);
    }

    private static Holder<Acceptor> there() throws VerbsException {
        return other.make(nothing -> new Acceptor(Providers.sharedMemory(), LOOPBACK));
    }

    /** {@link OperationContract}. */
    @Nested
    class Operations extends OperationContract {
        @Override
        VerbsFixture fixture() {
            return here();
        }

        @Override
        Holder<Acceptor> newAcceptor() throws VerbsException {
            return there();
        }
    }

    /** {@link SharedReceiveContract}. */
    @Nested
    class SharedReceives extends SharedReceiveContract {
        @Override
        VerbsFixture fixture() {
            return here();
        }

        @Override
        Holder<Acceptor> newAcceptor() throws VerbsException {
            return there();
        }
    }

    /** {@link FailureContract}. */
    @Nested
    class Failures extends FailureContract {
        @Override
        VerbsFixture fixture() {
            return here();
        }

        @Override
        Holder<Acceptor> newAcceptor() throws VerbsException {
            return there();
        }
    }

    /** {@link ConnectionContract}. */
    @Nested
    class Connections extends ConnectionContract {
        @Override
        VerbsFixture fixture() {
            return here();
        }

        @Override
        Holder<Acceptor> newAcceptor() throws VerbsException {
            return there();
        }
    }

    /** {@link CompletionQueueContract}. */
    @Nested
    class Queues extends CompletionQueueContract {
        @Override
        VerbsFixture fixture() {
            return here();
        }

        @Override
        Holder<Acceptor> newAcceptor() throws VerbsException {
            return there();
        }
    }

    /** {@link LifetimeContract}. */
    @Nested
    class Lifetimes extends LifetimeContract {
        @Override
        VerbsFixture fixture() {
            return here();
        }

        @Override
        Holder<Acceptor> newAcceptor() throws VerbsException {
            return there();
        }
    }
}
