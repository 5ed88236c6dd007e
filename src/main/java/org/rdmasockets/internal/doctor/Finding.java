package org.rdmasockets.internal.doctor;

/**
 * One thing that the doctor has looked at.
 *
 * @param level how bad it is
 * @param subject the thing, such as {@code ibverbs} or {@code open files}
 * @param text the finding, and the remedy if it needs one
 */
record Finding(Level level, String subject, String text) {
    /** How bad a finding is. */
    enum Level {
        /** As it should be. */
        OK,
        /** It works, but may become a limit. */
        NOTE,
        /** A transport cannot be used, or not as it should be. */
        PROBLEM
    }

    static Finding ok(String subject, String text) {
        return new Finding(Level.OK, subject, text);
    }

    static Finding note(String subject, String text) {
        return new Finding(Level.NOTE, subject, text);
    }

    static Finding problem(String subject, String text) {
        return new Finding(Level.PROBLEM, subject, text);
    }
}
