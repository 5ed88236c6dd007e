package org.rdmasockets.benchmark;

/** A figure, and its unit. */
enum Metric {
    P50("p50", "us"),
    P50_C("p50 of C", "us"),
    TIMES_C("p50", "times that of C"),
    P90("p90", "us"),
    P99("p99", "us"),
    P99_9("p99.9", "us"),
    OPENED("time to open all", "ms"),
    FIRST_CONNECT("first connect", "ms"),
    FIRST_ANSWER("first connect and answer", "ms"),
    MEGABYTES("throughput", "MB/s"),
    RATE("rate", "1/s"),
    ALLOCATED("allocated", "B/op"),
    PROCESSOR("processor time", "us/op"),
    CLIENT_PROCESSOR("processor time of the client", "us/op"),
    HEAP("heap per end", "B"),
    SHARED("pinned per end", "B"),
    RESIDENT("resident per end", "B"),
    IDLE_PROCESSOR("processor time, idle", "% of a core"),
    THREADS("library threads", ""),
    /** Of both processes and the whole fork; told below a table. */
    RESCUES("rescued wake-ups", "");

    private final String title;
    private final String unit;

    Metric(String title, String unit) {
        this.title = title;
        this.unit = unit;
    }

    /** Such as {@code p50, us}. */
    String title() {
        return unit.isEmpty() ? title : title + ", " + unit;
    }
}
