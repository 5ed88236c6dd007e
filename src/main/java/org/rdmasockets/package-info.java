/**
 * Sockets over RDMA with the shape of {@code java.net}: blocking calls, one virtual thread per connection.
 */
package org.rdmasockets;
