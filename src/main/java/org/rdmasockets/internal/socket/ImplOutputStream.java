package org.rdmasockets.internal.socket;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Objects;

/**
 * The stream under that of {@code java.net.Socket}, which adds closing by interrupt and JFR events. Any thread may
 * write.
 */
public final class ImplOutputStream extends OutputStream {
    private final RdmaSocketImpl impl;

    ImplOutputStream(RdmaSocketImpl impl) {
        this.impl = impl;
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] b, int off, int len) throws IOException {
        BufferTransfers transfers = impl.transfers;
        if (transfers != null && transfers.isWriter()) {
            transfers.writeInTurn(b, off, len);
            return;
        }
        Objects.checkFromIndexSize(off, len, b.length);
        if (len > 0) {
            impl.write(b, off, len);
        }
    }

    @Override
    public void close() {
        impl.close();
    }
}
