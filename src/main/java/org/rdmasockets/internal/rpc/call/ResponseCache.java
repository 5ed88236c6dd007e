package org.rdmasockets.internal.rpc.call;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A server's memory of numbered calls, so that a repeated one is answered and not run again: for each client the calls
 * that run, the answers that it has not acknowledged, and a floor below which nothing is remembered. A forgotten call
 * is never run again, whatever the reason: its number is not above the floor. A call may come late, behind those with
 * higher numbers: it runs if it is no repeated one, and could not have been repeated before.
 *
 * <p>An answer is kept until its client says that it has it, else for the time to keep; only answers of the same
 * client, beyond its share of all bytes, end that sooner. Then it may be forgotten: at once if its client has no
 * connection, else when bytes run out. Clients without a connection are forgotten when bytes run out, those first that
 * have been gone for longest. If all is younger, and bytes have run out twice, new numbered calls are refused: that
 * breaks no promise.
 */
final class ResponseCache {
    /** The bytes that a call counts beside its answer. */
    private static final int ENTRY_BYTES = 256;
    /** The most that one client may have of all bytes: one part in this many. */
    private static final int SHARE = 8;
    /** How often all are looked through within the time that answers are kept. */
    private static final int LOOKS = 64;

    private final long maxBytes;
    private final long keepNanos;
    /** By their identity, those longest without a connection first; guarded by this, as is all that it leads to. */
    private final Map<String, Client> clients = new LinkedHashMap<>(16, 0.75f, true);
    private long bytes;
    /** When all were last looked through. */
    private long lookedNanos = System.nanoTime();

    /** One client. */
    final class Client {
        private final Map<Long, Entry> calls = new LinkedHashMap<>();
        private long floor;
        private long clientBytes;
        private int connections;
        /** Whether a numbered call has come, and when the youngest connection of those with one began. */
        private boolean called;
        private long youngestNanos;
        private long leftNanos;
        private boolean forgotten;
    }

    /** One call. */
    static final class Entry {
        private final Client client;
        private final long number;
        private Frame answer;
        private long answeredNanos;
        private long weight = ENTRY_BYTES;
        /** The connection that wants the answer: the youngest that has asked. */
        private ServerConnection connection;
        private int callId;

        private Entry(Client client, long number) {
            this.client = client;
            this.number = number;
        }
    }

    /** The action for a numbered call. */
    enum Verdict {
        /** It is new: run it. */
        RUN,
        /** It runs, and its answer goes to the connection that has asked last; or its answer is there. */
        KNOWN,
        /** It is forgotten: it is unknown whether it has run. */
        FORGOTTEN
    }

    /** The result of a look-up. */
    record Finding(Verdict verdict, Entry entry, Frame answer) {}

    /** An empty memory; a client without a connection is remembered for a time. */
    ResponseCache(long maxBytes, long keepNanos) {
        this.maxBytes = maxBytes;
        this.keepNanos = keepNanos;
    }

    synchronized Client arrive(String identity, long sentUpTo) {
        forgetLate();
        Client client = clients.get(identity);
        if (client == null) {
            client = new Client();
            client.floor = sentUpTo; // calls that were sent before may have run and been forgotten
            clients.put(identity, client);
            bytes += ENTRY_BYTES;
        }
        client.connections++;
        return client;
    }

    synchronized void leave(Client client) {
        client.connections--;
        client.leftNanos = System.nanoTime();
    }

    /** How long a client is remembered from now on, if it does not come back; 0 or less if it is forgotten. */
    synchronized long keepsFor(Client client) {
        return client.forgotten ? 0 : client.connections > 0 ? Math.max(1, keepNanos)
                : keepNanos - (System.nanoTime() - client.leftNanos);
    }

    private void forgetLate() {
        long now = System.nanoTime();
        for (Iterator<Client> all = clients.values().iterator(); all.hasNext();) {
            Client client = all.next();
            if (client.connections == 0 && (now - client.leftNanos >= keepNanos || bytes > maxBytes)) {
                bytes -= client.clientBytes + ENTRY_BYTES;
                client.forgotten = true; // running calls go on
                all.remove();
            }
        }
    }

    /** Looks a call up, and remembers it from now on. */
    synchronized Finding find(Client client, Frame call, ServerConnection connection) {
        acknowledge(client, call.answered);
        Entry entry = client.calls.get(call.number);
        if (entry != null) {
            // A frame of an older connection was read late: its client is gone from there.
            if (entry.connection == null || connection.beganNanos - entry.connection.beganNanos >= 0) {
                entry.connection = connection;
                entry.callId = call.call;
            }
            return new Finding(Verdict.KNOWN, entry, entry.answer);
        }
        // A client repeats a call over a younger connection only.
        boolean onYoungest = !client.called || connection.beganNanos - client.youngestNanos >= 0;
        client.called = true;
        client.youngestNanos = onYoungest ? connection.beganNanos : client.youngestNanos;
        if (call.number <= client.floor && (call.has(Frame.REPEAT) || !onYoungest)) {
            return new Finding(Verdict.FORGOTTEN, null, null);
        }
        entry = new Entry(client, call.number);
        entry.connection = connection;
        entry.callId = call.call;
        Finding found = new Finding(Verdict.RUN, entry, null); // first: a remembered call has to be ended
        client.calls.put(call.number, entry);
        weigh(client, ENTRY_BYTES);
        return found;
    }

    /** The client has said that it has all answers below a number. */
    synchronized void answered(Client client, long below) {
        acknowledge(client, below);
    }

    /** The client has all answers below a number. */
    private void acknowledge(Client client, long answered) {
        if (answered <= client.floor) {
            return;
        }
        for (Iterator<Entry> all = client.calls.values().iterator(); all.hasNext();) {
            Entry entry = all.next();
            if (entry.number < answered && entry.answer != null) {
                weigh(client, -entry.weight);
                all.remove();
            } else if (entry.number >= answered) {
                break; // numbers come roughly in order
            }
        }
        client.floor = Math.max(client.floor, answered - 1);
    }

    /** Where an answer goes. */
    record Address(ServerConnection connection, int callId) {}

    /** A call has its answer. */
    synchronized Address answered(Entry entry, Frame answer) {
        if (entry.answer != null) { // an Error has cut the rest short
            return new Address(entry.connection, entry.callId);
        }
        Client client = entry.client;
        entry.answer = answer;
        entry.answeredNanos = System.nanoTime();
        long more = (answer.message == null ? 0 : answer.message.length)
                + (answer.metadata == null ? 0 : answer.metadata.length);
        entry.weight += more;
        weigh(client, more);
        forgetBeyond(client, maxBytes / SHARE);
        if (bytes > maxBytes) {
            forgetLate();
            forgetOld();
        }
        return new Address(entry.connection, entry.callId);
    }

    /** Forgets the oldest answers of a client until it has no more than so many bytes. */
    private void forgetBeyond(Client client, long limit) {
        for (Iterator<Entry> all = client.calls.values().iterator(); all.hasNext() && client.clientBytes > limit;) {
            Entry oldest = all.next();
            if (oldest.answer != null) {
                client.floor = Math.max(client.floor, oldest.number);
                weigh(client, -oldest.weight);
                all.remove();
            }
        }
    }

    /** Bytes have run out: forgets what was kept for its time, also of clients with a connection. */
    private void forgetOld() {
        long now = System.nanoTime();
        if (now - lookedNanos < keepNanos / LOOKS) {
            return; // it would find little more than the last time
        }
        lookedNanos = now;
        for (Client client : clients.values()) {
            for (Iterator<Entry> all = client.calls.values().iterator(); all.hasNext();) {
                Entry entry = all.next();
                if (entry.answer != null && now - entry.answeredNanos >= keepNanos) {
                    client.floor = Math.max(client.floor, entry.number);
                    weigh(client, -entry.weight);
                    all.remove();
                }
            }
        }
    }

    synchronized boolean hasRoom(Client client) {
        forgetBeyond(client, maxBytes / SHARE - 1); // the call itself counts already
        if (bytes >= 2 * maxBytes) {
            forgetLate();
            forgetOld();
        }
        return client.clientBytes < maxBytes / SHARE && bytes < 2 * maxBytes;
    }

    private void weigh(Client client, long more) {
        client.clientBytes += more;
        bytes += client.forgotten ? 0 : more;
    }

    synchronized long bytes() {
        return bytes;
    }
}
