package org.rdmasockets.benchmark;

/**
 * How many requests of 64 bytes are answered in a second, when each connection has a thread that sends the next one as
 * soon as it has the answer (a closed loop)?
 */
final class RequestResponse implements Question {
    @Override
    public String name() {
        return "request-response";
    }

    @Override
    public String title() {
        return "Requests of 64 B and their answers, closed loop";
    }

    @Override
    public Metric headline() {
        return Metric.RATE;
    }

    @Override
    public boolean suits(Contender contender) {
        return contender.mostConnections() > 1;
    }

    @Override
    public void measure(Trial trial) throws Exception {
        for (int connections : trial.plan().connections()) {
            if (connections <= trial.contender().mostConnections()) {
                new Load(trial, Service.ECHO).run(Trial.connections(connections), connections, Load.Pace.AT_ONCE);
            }
        }
    }
}
