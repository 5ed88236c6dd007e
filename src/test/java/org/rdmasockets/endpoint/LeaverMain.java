package org.rdmasockets.endpoint;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** A process that sends and ends without closing its endpoint: {@code WAY DEVICE HOST PORT}. */
final class LeaverMain {
    /** So many messages, each with its number beside it; the peer has room for all. */
    static final int MESSAGES = 20;
    /** How long each is. */
    static final int BYTES = 3_000;

    private LeaverMain() {
    }

    static void main(String[] arguments) throws Exception {
        RdmaEndpoint endpoint = RdmaEndpoint.builder().device(arguments[1]).connect(arguments[2],
                Integer.parseInt(arguments[3]));
        LocalRegion region = endpoint.allocate(BYTES);
        List<Pending<Void>> sends = new ArrayList<>();
        switch (arguments[0]) {
            case "returns" -> begin(endpoint, region, sends);
            case "exits" -> {
                begin(endpoint, region, sends);
                System.exit(0);
            }
            case "talksInHook" -> Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                try {
                    for (int i = 0; i < MESSAGES; i++) {
                        endpoint.send(region, i);
                        endpoint.receive().close();
                    }
                } catch (IOException e) {
                    System.out.println("failed: " + e);
                }
            }));
            case "closesInHook" -> Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                try {
                    begin(endpoint, region, sends);
                } catch (IOException e) {
                    System.out.println("failed: " + e);
                }
                endpoint.close();
            }));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static void begin(RdmaEndpoint endpoint, LocalRegion region, List<Pending<Void>> sends)
            throws IOException {
        for (int i = 0; i < MESSAGES; i++) {
            sends.add(endpoint.startSend(region, i));
        }
    }
}
