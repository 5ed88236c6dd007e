package org.rdmasockets.contract;

import java.net.InetAddress;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * The provider, device and address that a verbs contract runs on.
 *
 * @param provider the provider under test
 * @param device the name of one of its devices
 * @param address a local address of that device
 */
public record VerbsFixture(VerbsProvider provider, String device, InetAddress address) {
}
