package org.rdmasockets.far;

import java.io.IOException;
import java.io.OutputStream;

/** An output stream of the other JVM. */
final class FarOutputStream extends OutputStream {
    private final Far<OutputStream> far;

    FarOutputStream(Far<OutputStream> far) {
        this.far = far;
    }

    @Override
    public void write(int value) throws IOException {
        far.tell(out -> out.write(value));
    }

    @Override
    public void write(byte[] array, int offset, int length) throws IOException {
        far.tell(out -> out.write(array, offset, length));
    }

    @Override
    public void flush() throws IOException {
        far.tell(out -> out.flush());
    }

    @Override
    public void close() throws IOException {
        far.tell(out -> out.close());
    }
}
