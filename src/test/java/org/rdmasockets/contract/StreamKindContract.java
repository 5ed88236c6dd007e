package org.rdmasockets.contract;

import org.junit.jupiter.api.Nested;
import org.rdmasockets.StreamKind;

/** However a stream is carried, it is the same to the application: all that the contracts ask of sockets. */
abstract class StreamKindContract {
    /** How streams are carried. */
    abstract StreamKind kind();

    /** Where that is tried. */
    abstract SocketFixture place();

    private SocketFixture ofKind() {
        return new StreamKindFixture(place(), kind());
    }

    /** The promises of {@code java.net}. */
    @Nested
    class Sockets extends SocketContract {
        @Override
        protected SocketFixture fixture() {
            return ofKind();
        }
    }

    /** Sending from buffers of the socket. */
    @Nested
    class Buffers extends DirectContract {
        @Override
        SocketFixture fixture() {
            return ofKind();
        }
    }

    /** Lending what has arrived. */
    @Nested
    class Lending extends ReceiveContract {
        @Override
        SocketFixture fixture() {
            return ofKind();
        }
    }

    /** The agreement of both ends. */
    @Nested
    class Agreeing extends StreamKindTheme {
        @Override
        SocketFixture fixture() {
            return place();
        }

        @Override
        StreamKind kind() {
            return StreamKindContract.this.kind();
        }
    }
}
