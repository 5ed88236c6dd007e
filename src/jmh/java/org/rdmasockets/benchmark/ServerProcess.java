package org.rdmasockets.benchmark;

import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.util.List;

/** The server as its client sees it: another process, or, to compare, this one. One thread at a time. */
interface ServerProcess extends AutoCloseable {
    /** Where it is reached. */
    String address();

    /** The resources that the server has used; none if it is this process, which is counted anyway. */
    Usage usage() throws IOException;

    /** Processor time of the server's compilers; 0 if it is this process, likewise. */
    long compilerNanos() throws IOException;

    /** The resources that the server holds. */
    Footprint footprint() throws IOException;

    /** How many wake-ups it has rescued; none if it is this process, which is counted anyway. */
    long rescues() throws IOException;

    @Override
    void close() throws IOException;

    /** Starts one. */
    static ServerProcess start(Contender contender) throws IOException {
        return contender.oneJvm() ? new Here(new Server(contender)) : new Other(contender);
    }

    /** This process. */
    record Here(Server server) implements ServerProcess {
        @Override
        public String address() {
            return server.address();
        }

        @Override
        public Usage usage() {
            return Usage.NONE;
        }

        @Override
        public long compilerNanos() {
            return 0;
        }

        @Override
        public Footprint footprint() throws IOException {
            return Footprint.now();
        }

        @Override
        public long rescues() {
            return 0;
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }

    /** Another process, which ends with this one. */
    final class Other implements ServerProcess {
        private final Process process;
        private final BufferedReader answers;
        private final PrintStream orders;
        private final String address;

        Other(Contender contender) throws IOException {
            process = Jvm.command(contender, List.of(), Server.class, contender.name()).start();
            answers = process.inputReader();
            orders = new PrintStream(process.getOutputStream(), true);
            address = answer();
        }

        private String answer() throws IOException {
            String line = answers.readLine();
            if (line == null) {
                throw new IOException("the server ended");
            }
            return line;
        }

        private <T> T ask(String order, Class<T> type) throws IOException {
            orders.println(order);
            return new Gson().fromJson(answer(), type);
        }

        @Override
        public String address() {
            return address;
        }

        @Override
        public Usage usage() throws IOException {
            return ask("usage", Usage.class);
        }

        @Override
        public long compilerNanos() throws IOException {
            return ask("compilers", Long.class);
        }

        @Override
        public Footprint footprint() throws IOException {
            return ask("footprint", Footprint.class);
        }

        @Override
        public long rescues() throws IOException {
            return ask("rescues", Long.class);
        }

        @Override
        public void close() {
            orders.close();
        }
    }
}
