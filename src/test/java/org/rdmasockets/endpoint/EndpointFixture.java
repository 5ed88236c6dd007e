package org.rdmasockets.endpoint;

import java.net.InetAddress;

/**
 * The device and address that an endpoint contract runs on.
 *
 * @param device the name of a device
 * @param address a local address of it
 */
record EndpointFixture(String device, InetAddress address) {
}
