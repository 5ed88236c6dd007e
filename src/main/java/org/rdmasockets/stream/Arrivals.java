package org.rdmasockets.stream;

/** What the peer's messages mean. */
final class Arrivals {
    private final ReceiveBuffer received;
    private final SendWindow window;
    private final Borrowing borrowing;
    private final Lending lending;
    private final Closing closing;
    /** Null if the peer may map nothing. */
    private final MapTable maps;

    /**
     * Tells everybody what has come.
     *
     * @param received gets data
     * @param window learns which control messages have arrived
     * @param borrowing gets updates and offers
     * @param lending knows whether the peer takes offers
     * @param closing gets SHUTDOWN and DISCONNECT
     * @param maps gets maps; null if the peer was told that there may be none
     */
    Arrivals(ReceiveBuffer received, SendWindow window, Borrowing borrowing, Lending lending, Closing closing,
            MapTable maps) {
        this.received = received;
        this.window = window;
        this.borrowing = borrowing;
        this.lending = lending;
        this.closing = closing;
        this.maps = maps;
    }

    /**
     * What the peer has mapped.
     *
     * @return a table, null if it may map nothing
     */
    MapTable maps() {
        return maps;
    }

    /**
     * Takes a message. Those after the peer's DISCONNECT mean nothing.
     *
     * @param message 32 bits
     * @param lengthBytes how much was written with it, if the device tells
     * @return null if all is well, otherwise what the peer did wrong
     */
    String apply(int message, int lengthBytes) {
        if (closing.isPeerDisconnected()) {
            return null;
        }
        int argument = ImmediateData.argument(message);
        int operation = ImmediateData.operation(message);
        switch (operation) {
            case ImmediateData.DATA -> {
                return data(argument);
            }
            case ImmediateData.MAP -> {
                return map(argument);
            }
            case ImmediateData.UPDATE -> {
                return borrowing.updateArrived(argument, lengthBytes, received.received());
            }
            case ImmediateData.CONTROL -> {
                return control(argument);
            }
            default -> {
                // C would take 1, 3 and 5 for data, but never sends them.
                return "sent a message with the unknown operation " + operation;
            }
        }
    }

    /** What neither C nor we send means nothing. */
    private String control(int control) {
        if (lending.peerMovesOn() && control == ImmediateData.MOVED_ON) {
            return received.offerTaken();
        }
        if (lending.peerMovesOn() && control == ImmediateData.OFFER) {
            return borrowing.offerArrived();
        }
        closing.received(control);
        return null;
    }

    /** It costs the peer a credit, as data does. */
    private String map(int index) {
        String wrong = data(0);
        if (wrong != null) {
            return wrong;
        }
        return maps == null ? "mapped memory though there is no entry for it" : maps.adopt(index);
    }

    /** Data after SHUTDOWN, which C can send by a mistake of its user, is dropped; no more is lent, so it ends. */
    private String data(int bytes) {
        if (closing.isInputEnded()) {
            return null;
        }
        String wrong = received.messageArrived();
        if (wrong == null) {
            wrong = received.dataArrived(bytes);
        }
        window.confirm(received.received());
        return wrong;
    }
}
