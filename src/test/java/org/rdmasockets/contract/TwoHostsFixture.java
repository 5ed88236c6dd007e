package org.rdmasockets.contract;

import java.net.InetAddress;
import java.util.Optional;
import org.rdmasockets.TestDevice;
import org.rdmasockets.Transport;
import org.rdmasockets.far.OtherJvm;

/** Sockets over the devices of two hosts, of version 4 only. */
final class TwoHostsFixture extends TwoJvmsFixture {
    private final InetAddress address;

    /** One side is on the other host. */
    TwoHostsFixture(OtherJvm other, boolean acceptsThere) {
        super(other, acceptsThere, Transport.IBVERBS);
        address = acceptsThere ? other.address() : TestDevice.address();
    }

    @Override
    public InetAddress address() {
        return address;
    }

    @Override
    public Optional<InetAddress> address6() {
        return Optional.empty();
    }

    @Override
    public Optional<String> whyNot(Ability ability) {
        return ability == Ability.IPV6 ? Optional.of("two hosts are tried over IPv4") : super.whyNot(ability);
    }
}
