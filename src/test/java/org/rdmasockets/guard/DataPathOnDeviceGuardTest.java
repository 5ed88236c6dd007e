package org.rdmasockets.guard;

import java.net.InetAddress;
import org.junit.jupiter.api.Tag;
import org.rdmasockets.TestDevice;
import org.rdmasockets.internal.provider.Providers;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;

/** The cost of a message over the device that the properties name. */
@Tag("device")
class DataPathOnDeviceGuardTest extends DataPathContract {
    private final boolean immediateData;

    DataPathOnDeviceGuardTest() throws VerbsException {
        immediateData = Providers.ibverbs().open(TestDevice.name()).supports(Capability.IMMEDIATE_DATA);
    }

    @Override
    VerbsProvider provider() {
        return Providers.ibverbs();
    }

    @Override
    InetAddress address() {
        return TestDevice.address();
    }

    /** Emulated machines are slow. */
    @Override
    int messages() {
        return 2_000;
    }

    /** A message may arrive after the reader has looked, and then it arms before it parks. */
    @Override
    double arming() {
        return 1.03;
    }

    /** Soft-iWARP sends by a thread of its kernel and TCP, so how often one waits is up to the scheduler. */
    @Override
    boolean isPrompt() {
        return immediateData;
    }

    /** An event wakes a thread that arms and parks. */
    @Override
    double events(double few) {
        return arming();
    }

    /** Into the ring, and inline into the request. */
    @Override
    double smallCopies() {
        return 2.003;
    }

    /** Messages take long there, so more of the poller's looks fall on each; an object would be 16 bytes. */
    @Override
    double noGarbage() {
        return 4;
    }

    /** On a slow machine 16 times as much as for a small message; what a message itself makes, shared memory shows. */
    @Override
    double largeGarbage() {
        return 25 * noGarbage();
    }

    /** The reader may have parked before each of the two writes: how long they take is up to the machine. */
    @Override
    double largeEvents() {
        return 2 * arming();
    }

    /** Where there is no second compiler: each call that keeps errno makes an object. */
    @Override
    double wakingGarbage() {
        return 240;
    }

    @Override
    boolean immediateData() {
        return immediateData;
    }

    /** The message and the update for its chunk, at either end. */
    @Override
    double largeCompletions() {
        return immediateData ? 4.03 : 6.03;
    }

    /** Only the updates for chunks are, twice, and over iWARP the messages. */
    @Override
    double directCopies() {
        return 0.001;
    }
}
