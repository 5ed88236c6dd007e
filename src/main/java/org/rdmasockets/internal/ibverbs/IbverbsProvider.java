package org.rdmasockets.internal.ibverbs;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.Errno;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.spi.TransportProvider;

/** Verbs over libibverbs and librdmacm, for any device that has a kernel driver. One object serves the process. */
public final class IbverbsProvider implements TransportProvider {
    /** The name as settings spell it. */
    public static final String NAME = "ibverbs";

    /** A provider; it touches no library until it is asked something. */
    public IbverbsProvider() {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> unavailability() {
        return IbverbsAvailability.problem();
    }

    /** Refuses where native access is denied or a library is missing. */
    private static void requireLibraries() throws VerbsException {
        Optional<String> problem = NativeLibraries.problem();
        if (problem.isPresent()) {
            throw new VerbsException("dlopen", Errno.OK.number(), "", problem.get());
        }
    }

    @Override
    public List<DeviceInfo> devices() throws VerbsException {
        requireLibraries();
        return DeviceTable.list();
    }

    @Override
    public Device open(String name) throws VerbsException {
        requireLibraries();
        return DeviceTable.ALL.open(name);
    }

    @Override
    public EventPoller createEventPoller() throws VerbsException {
        requireLibraries();
        return new IbverbsEventPoller();
    }

    @Override
    public ConnectionManager createConnectionManager() throws VerbsException {
        requireLibraries();
        return new RdmacmConnectionManager(DeviceTable.ALL);
    }

    @Override
    public String stayNear(Set<String> names) throws VerbsException {
        return ProcessorList.near(names, Path.of("/sys")).keepThisThread();
    }
}
