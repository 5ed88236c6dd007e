/** Endpoints: one contract for all devices, {@code EndpointContractTest}, and what only one of them shows. */
package org.rdmasockets.endpoint;
