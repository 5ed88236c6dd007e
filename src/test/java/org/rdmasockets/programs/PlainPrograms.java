package org.rdmasockets.programs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.RuntimeMXBean;
import java.lang.ref.Reference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.rmi.Remote;
import java.rmi.RemoteException;
import java.rmi.registry.LocateRegistry;
import java.rmi.registry.Registry;
import java.rmi.server.UnicastRemoteObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import javax.management.JMX;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.ObjectMessage;
import org.jgroups.Receiver;
import org.jgroups.protocols.FRAG4;
import org.jgroups.protocols.TCP;
import org.jgroups.protocols.TCPPING;
import org.jgroups.protocols.UFC;
import org.jgroups.protocols.UNICAST3;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.protocols.pbcast.NAKACK2;
import org.jgroups.protocols.pbcast.STABLE;

/**
 * Programs that use libraries of others, and sockets only through these. Their output after "> " is the same over all
 * sockets.
 */
final class PlainPrograms {
    private static final int PATIENCE_SECONDS = 60;

    private PlainPrograms() {
    }

    /**
     * Runs one; servers end with their input.
     *
     * @param args its name, and what it needs: addresses and ports
     */
    public static void main(String[] args) {
        try {
            run(args);
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
        System.exit(0); // RMI's threads would go on
    }

    private static void run(String[] args) throws Exception {
        switch (args[0]) {
            case "rmi-server" -> Rmi.serve(args[1]);
            case "rmi-client" -> Rmi.call(args[1], Integer.parseInt(args[2]));
            case "jmx-server" -> Management.serve();
            case "jmx-client" -> Management.ask(args[1], Integer.parseInt(args[2]));
            case "member" -> Member.meet(args[1], args[2], Integer.parseInt(args[3]), Integer.parseInt(args[4]));
            case "redis" -> Redis.serve(args[1]);
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static void say(Object text) {
        System.out.println("> " + text);
    }

    private static void awaitEndOfInput() throws IOException {
        System.in.readAllBytes();
    }

    /** The server's callback to the client. */
    public interface Listener extends Remote {
        /**
         * Hears of progress.
         *
         * @param done how much is done
         * @throws RemoteException if the network fails
         */
        void progress(int done) throws RemoteException;
    }

    /** The service that the client calls. */
    public interface Work extends Remote {
        /**
         * Adds numbers.
         *
         * @param numbers some
         * @param listener is called back
         * @return their sum
         * @throws RemoteException if the network fails
         */
        long sum(int[] numbers, Listener listener) throws RemoteException;

        /**
         * Fails.
         *
         * @throws RemoteException if the network fails
         */
        void fail() throws RemoteException;
    }

    /** Remote calls in both directions, with the registry. */
    private static final class Rmi {
        private static final class LocalWork implements Work {
            @Override
            public long sum(int[] numbers, Listener listener) throws RemoteException {
                listener.progress(numbers.length);
                return IntStream.of(numbers).asLongStream().sum();
            }

            @Override
            public void fail() {
                throw new IllegalStateException("as asked for");
            }
        }

        static void serve(String host) throws Exception {
            System.setProperty("java.rmi.server.hostname", host);
            Registry registry = LocateRegistry.createRegistry(0);
            LocalWork work = new LocalWork();
            registry.rebind("work", UnicastRemoteObject.exportObject(work, 0));
            String reference = registry.toString();
            say("port " + reference.replaceFirst("(?s)^.*endpoint:\\[[^]]*:(\\d+)\\].*$", "$1"));
            awaitEndOfInput();
            Reference.reachabilityFence(registry); // RMI itself holds both weakly
            Reference.reachabilityFence(work);
        }

        static void call(String host, int port) throws Exception {
            System.setProperty("java.rmi.server.hostname", host);
            Work work = (Work) LocateRegistry.getRegistry(host, port).lookup("work");
            List<Integer> heard = new ArrayList<>();
            Listener listener = heard::add;
            Remote exported = UnicastRemoteObject.exportObject(listener, 0);
            for (int length = 1; length <= 100_000; length *= 10) {
                say(work.sum(IntStream.range(0, length).toArray(), (Listener) exported));
            }
            say(heard);
            try {
                work.fail();
            } catch (IllegalStateException e) {
                say(e);
            }
            Reference.reachabilityFence(listener);
        }
    }

    /** A bean to look at. */
    public interface CounterMXBean {
        /**
         * The count.
         *
         * @return how often it was counted
         */
        int getCount();

        /** Counts once. */
        void count();
    }

    /** A JVM that is watched from outside, by options of the JVM. */
    private static final class Management {
        private static final String NAME = "test:type=Counter";

        private static final class Counter implements CounterMXBean {
            private int count;

            @Override
            public synchronized int getCount() {
                return count;
            }

            @Override
            public synchronized void count() {
                count++;
            }
        }

        static void serve() throws Exception {
            ManagementFactory.getPlatformMBeanServer().registerMBean(new Counter(), new ObjectName(NAME));
            say("ready");
            awaitEndOfInput();
        }

        static void ask(String host, int port) throws Exception {
            JMXServiceURL url = new JMXServiceURL("service:jmx:rmi:///jndi/rmi://" + host + ":" + port + "/jmxrmi");
            try (JMXConnector connector = JMXConnectorFactory.connect(url)) {
                MBeanServerConnection server = connector.getMBeanServerConnection();
                say(ManagementFactory.newPlatformMXBeanProxy(server, ManagementFactory.RUNTIME_MXBEAN_NAME,
                        RuntimeMXBean.class).getSpecName());
                CounterMXBean counter = JMX.newMXBeanProxy(server, new ObjectName(NAME), CounterMXBean.class);
                for (int i = 0; i < 50; i++) {
                    counter.count();
                }
                say(counter.getCount());
                say(server.queryNames(new ObjectName("java.lang:type=*"), null).size() > 5);
            }
        }
    }

    /** A member of a cluster of two. */
    private static final class Member {
        private static final int MESSAGES = 200;

        static void meet(String name, String host, int port, int otherPort) throws Exception {
            InetAddress address = InetAddress.getByName(host);
            BlockingQueue<String> heard = new LinkedBlockingQueue<>();
            TCP tcp = new TCP();
            tcp.setBindAddress(address).setBindPort(port);
            TCPPING discovery = new TCPPING().initialHosts(List.of(new InetSocketAddress(address, port),
                    new InetSocketAddress(address, otherPort))).portRange(0);
            try (JChannel channel = new JChannel(tcp, discovery, new NAKACK2(), new UNICAST3(), new STABLE(),
                    new GMS().setJoinTimeout(name.equals("a") ? 500 : 30_000), new UFC(), new FRAG4())) {
                channel.name(name).setReceiver(new Receiver() {
                    @Override
                    public void receive(Message message) {
                        heard.add(message.src() + ":" + message.getObject());
                    }
                });
                channel.connect("test");
                say("joined");
                awaitMembers(channel, size -> size >= 2);
                for (int i = 0; i < MESSAGES; i++) {
                    channel.send(new ObjectMessage(null, i + ":" + "x".repeat(i * 50)));
                }
                Map<String, Integer> next = new ConcurrentHashMap<>();
                for (int i = 0; i < 2 * MESSAGES; i++) {
                    count(heard.poll(PATIENCE_SECONDS, TimeUnit.SECONDS), next);
                }
                // A member drops messages of one that has left: the second leaves when the first has all, and first.
                boolean last = name.equals("a");
                boolean heardOther = last && heard.poll(PATIENCE_SECONDS, TimeUnit.SECONDS) != null;
                channel.send(new ObjectMessage(null, "done"));
                say(heard.poll(PATIENCE_SECONDS, TimeUnit.SECONDS) != null
                        && (heardOther || heard.poll(PATIENCE_SECONDS, TimeUnit.SECONDS) != null));
                say("a " + next.get("a") + ", b " + next.get("b"));
                if (last) {
                    awaitMembers(channel, size -> size == 1);
                }
            }
        }

        private static void awaitMembers(JChannel channel, IntPredicate enough) throws InterruptedException {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
            while (!enough.test(channel.getView().size()) && System.nanoTime() < end) {
                TimeUnit.MILLISECONDS.sleep(5);
            }
        }

        private static void count(String heard, Map<String, Integer> next) {
            String[] parts = String.valueOf(heard).split(":", 3);
            int expected = next.getOrDefault(parts[0], 0);
            if (parts.length < 3 || Integer.parseInt(parts[1]) != expected || parts[2].length() != expected * 50) {
                throw new IllegalStateException("heard " + heard + " instead of number " + expected);
            }
            next.put(parts[0], expected + 1);
        }
    }

    /** As much of a Redis server as a client needs. */
    private static final class Redis {
        private final Map<String, String> values = new ConcurrentHashMap<>();

        static void serve(String host) throws Exception {
            ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName(host));
            say("port " + server.getLocalPort());
            Redis redis = new Redis();
            Thread.ofPlatform().daemon().start(() -> redis.accept(server));
            awaitEndOfInput();
        }

        private void accept(ServerSocket server) {
            while (true) {
                try {
                    Socket socket = server.accept();
                    Thread.ofVirtual().start(() -> answer(socket));
                } catch (IOException e) {
                    say(e);
                    return;
                }
            }
        }

        private void answer(Socket socket) {
            try (socket; BufferedReader in = new BufferedReader(
                    new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))) {
                OutputStream out = socket.getOutputStream();
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    List<String> words = new ArrayList<>();
                    for (int i = Integer.parseInt(line.substring(1)); i > 0; i--) {
                        in.readLine(); // the length
                        words.add(in.readLine());
                    }
                    out.write(answer(words).getBytes(StandardCharsets.UTF_8));
                }
            } catch (IOException e) {
                say(e);
            }
        }

        private String answer(List<String> words) {
            return switch (words.getFirst()) {
                case "SET" -> {
                    values.put(words.get(1), words.get(2));
                    yield "+OK\r\n";
                }
                case "GET" -> {
                    String value = values.get(words.get(1));
                    yield value == null ? "$-1\r\n" : "$" + value.length() + "\r\n" + value + "\r\n";
                }
                case "INCR" -> ":" + values.merge(words.get(1), "1",
                        (old, one) -> Integer.toString(Integer.parseInt(old) + 1)) + "\r\n";
                default -> "+OK\r\n";
            };
        }
    }
}
