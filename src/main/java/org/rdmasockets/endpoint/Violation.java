package org.rdmasockets.endpoint;

/** The peer has said what no honest one says; ends its connection alone. */
final class Violation extends Exception {
    private static final long serialVersionUID = 1L;

    Violation(String what) {
        super(what, null, false, false);
    }
}
