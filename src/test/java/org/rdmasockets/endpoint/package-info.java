/** Endpoints: one contract for all devices, {@code EndpointContract}, and what only one of them shows. */
package org.rdmasockets.endpoint;
