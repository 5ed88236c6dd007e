package org.rdmasockets.contract;

/** Streams keep their contract between two hosts: {@code src/test/guest/two-hosts} runs it. */
@RunIn({Place.TO_ANOTHER_HOST, Place.FROM_ANOTHER_HOST})
class StreamsBetweenHostsTest extends StreamContract {
}
