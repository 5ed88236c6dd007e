package org.rdmasockets.far;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;

/** One end of the connection between the two JVMs. */
final class Line implements Closeable {
    private final Socket socket;
    /** Guarded by itself. */
    private final DataOutputStream out;

    Line(Socket socket) throws IOException {
        this.socket = socket;
        socket.setTcpNoDelay(true);
        out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
    }

    /** Where the other end is. */
    InetAddress address() {
        return socket.getInetAddress();
    }

    /** A message as it is sent; fails if it cannot be serialized. */
    static byte[] serialized(Object message) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream objects = new Sending(bytes)) {
            objects.writeObject(message);
        }
        return bytes.toByteArray();
    }

    /** Sends a message; the thread must not be interrupted meanwhile, which would close a virtual thread's socket. */
    void send(byte[] message) throws IOException {
        synchronized (out) {
            out.writeInt(message.length);
            out.write(message);
            out.flush();
        }
    }

    /** Takes messages; it must not wait. */
    interface Receiver {
        /** Takes one. */
        void take(Object message);
    }

    /** Receives until the connection ends. */
    void receive(Receiver receiver) throws IOException, ClassNotFoundException {
        DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        while (true) {
            byte[] message = new byte[in.readInt()];
            in.readFully(message);
            try (ObjectInputStream objects = new Receiving(new ByteArrayInputStream(message))) {
                receiver.take(objects.readObject());
            }
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    /** Names what cannot be serialized. */
    private static final class Sending extends ObjectOutputStream {
        Sending(OutputStream out) throws IOException {
            super(out);
            enableReplaceObject(true);
        }

        @Override
        protected Object replaceObject(Object object) {
            return Named.nameOf(object);
        }
    }

    /** Finds what was named. */
    private static final class Receiving extends ObjectInputStream {
        Receiving(InputStream in) throws IOException {
            super(in);
            enableResolveObject(true);
        }

        @Override
        protected Object resolveObject(Object object) {
            return object instanceof Named named ? named.find() : object;
        }
    }
}
