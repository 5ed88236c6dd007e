package org.rdmasockets.internal.socket;

import java.io.IOException;
import java.io.InputStream;
import java.util.Objects;

/**
 * The stream under that of {@code java.net.Socket}, which adds closing by interrupt and JFR events. Any thread may
 * read.
 */
public final class ImplInputStream extends InputStream {
    private final RdmaSocketImpl impl;

    ImplInputStream(RdmaSocketImpl impl) {
        this.impl = impl;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] b, int off, int len) throws IOException {
        BufferTransfers transfers = impl.transfers;
        if (transfers != null && transfers.isReader()) {
            return transfers.readInTurn(b, off, len);
        }
        Objects.checkFromIndexSize(off, len, b.length);
        return len == 0 ? 0 : impl.read(b, off, len);
    }

    @Override
    public int available() throws IOException {
        return impl.available();
    }

    @Override
    public void close() {
        impl.close();
    }
}
