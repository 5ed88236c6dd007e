package org.rdmasockets.internal.waiting;

/** Settings of a poller with values that only tests change. */
final class Settings {
    private Settings() {}

    /** The same with another number of processors. */
    static PollerSettings withProcessors(PollerSettings s, int processors) {
        return new PollerSettings(s.threadName(), s.batch(), s.spinBudgetNanos(), processors, s.tickMillis(),
                s.valve(), s.firstQueueEntries(), s.maxQueueEntries());
    }

    /** The same with the valve or without. */
    static PollerSettings withValve(PollerSettings s, boolean valve) {
        return new PollerSettings(s.threadName(), s.batch(), s.spinBudgetNanos(), s.processors(), s.tickMillis(),
                valve, s.firstQueueEntries(), s.maxQueueEntries());
    }

    /** The default settings with other sizes of the first and the largest completion queue. */
    static PollerSettings withQueueEntries(int first, int most) {
        PollerSettings s = PollerSettings.defaults();
        return new PollerSettings(s.threadName(), s.batch(), s.spinBudgetNanos(), s.processors(), s.tickMillis(),
                s.valve(), first, most);
    }
}
