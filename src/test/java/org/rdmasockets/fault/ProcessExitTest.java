package org.rdmasockets.fault;

import java.net.InetAddress;
import java.util.List;

/** Over shared memory. */
class ProcessExitTest extends ProcessExitContract {
    @Override
    InetAddress address() {
        return InetAddress.getLoopbackAddress();
    }

    @Override
    List<String> options() {
        return List.of("-Dorg.rdmasockets.transport=sharedmemory");
    }
}
