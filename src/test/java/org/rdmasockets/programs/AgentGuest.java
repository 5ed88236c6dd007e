package org.rdmasockets.programs;

import java.io.ByteArrayOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.InaccessibleObjectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketOption;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocket;
import org.rdmasockets.RdmaSocketOptions;
import org.rdmasockets.RdmaSockets;
import org.rdmasockets.StreamKind;
import org.rdmasockets.Transport;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.LoggerFactory;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.helpers.LegacyAbstractLogger;
import org.slf4j.helpers.NOPMDCAdapter;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/** A program under the agent. Code that names classes of a library is loaded only if the library is there. */
public final class AgentGuest {
    private AgentGuest() {
    }

    /**
     * Does what the arguments say, one after the other, and prints what it saw.
     *
     * @param args names of methods
     * @throws Exception if a step fails
     */
    public static void main(String[] args) throws Exception {
        String last = args.length == 0 ? "" : args[args.length - 1];
        if (!last.startsWith("logged=")) {
            run(args);
            return;
        }
        PrintStream before = System.out;
        PrintStream errors = System.err;
        Seen seen = new Seen(before);
        System.setOut(new PrintStream(seen, true)); // before anything logs
        System.setErr(System.out);
        try {
            run(Arrays.copyOf(args, args.length - 1));
            seen.await(last.substring("logged=".length()));
        } finally {
            System.setOut(before);
            System.setErr(errors);
        }
    }

    private static void run(String... args) throws Exception {
        for (String each : args) {
            switch (each) {
                case "trespass" -> trespass();
                case "meet" -> System.out.println("met over " + meet());
                case String urls when urls.startsWith("applications=") ->
                        Applications.run(urls.substring("applications=".length()));
                case "log" -> LoggerFactory.getLogger("guest").info("hello");
                case "options" -> Copy.options();
                case "copies" -> Copy.meet();
                default -> throw new IllegalArgumentException(each);
            }
        }
    }

    /** Remembers what is printed. */
    private static final class Seen extends FilterOutputStream {
        private static final int PATIENCE_SECONDS = 60;

        private final ByteArrayOutputStream all = new ByteArrayOutputStream();

        Seen(OutputStream out) {
            super(out);
        }

        @Override
        public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, length);
            all.write(bytes, offset, length);
        }

        /** Meets until a text is printed: the log's thread is another, and looks at levels now and then. */
        void await(String text) throws IOException {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
            while (!has(text)) {
                if (System.nanoTime() - end > 0) {
                    throw new IllegalStateException("not printed: " + text);
                }
                meet();
            }
        }

        private synchronized boolean has(String text) {
            return all.toString().contains(text);
        }
    }

    /** Tries actions that no program may take without a flag, and looks for classes that it must not find. */
    private static void trespass() {
        Module base = Object.class.getModule();
        Module us = AgentGuest.class.getModule();
        for (String name : List.of("java.lang", "java.net")) {
            System.out.println(name + ": " + (base.isOpen(name, us) ? "open" : "closed"));
        }
        System.out.println("native access: " + us.isNativeAccessEnabled());
        try {
            ClassLoader.class.getDeclaredMethod("defineClass", byte[].class, int.class, int.class).setAccessible(true);
            System.out.println("defineClass: accessible");
        } catch (NoSuchMethodException | InaccessibleObjectException e) {
            System.out.println("defineClass: " + e.getClass().getSimpleName());
        }
        for (String name : List.of("org.slf4j.Logger", "org.jctools.queues.MessagePassingQueue",
                "org.rdmasockets.RdmaSockets", "org.rdmasockets.internal.agent.Installation")) {
            System.out.println(name + ": " + (isVisible(name) ? "visible" : "absent"));
        }
    }

    private static boolean isVisible(String name) {
        try {
            return Class.forName(name) != null;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** Plain sockets; what they go over is said by an option whose class this program does not know. */
    private static String meet() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
                Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                Socket accepted = server.accept()) {
            exchange(client, accepted);
            for (SocketOption<?> option : client.supportedOptions()) {
                if (option.name().equals("TRANSPORT")) {
                    return client.getOption(option).toString();
                }
            }
            return "plain TCP";
        }
    }

    private static String exchange(Socket client, Socket accepted) throws IOException {
        client.getOutputStream().write(7);
        int there = accepted.getInputStream().read();
        accepted.getOutputStream().write(8);
        return there + " " + client.getInputStream().read();
    }

    /** Each in a class loader of its own. */
    private static final class Applications {
        private static final int PATIENCE_SECONDS = 60;

        static void run(String classPath) throws Exception {
            ReferenceQueue<ClassLoader> gone = new ReferenceQueue<>();
            Map<Reference<?>, String> names = new HashMap<>();
            for (String name : List.of("first", "second")) {
                names.put(new WeakReference<>(runOne(name, classPath), gone), name);
            }
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
            while (!names.isEmpty() && System.nanoTime() < end) {
                System.gc();
                Reference<?> one = gone.remove(100);
                if (one != null) {
                    System.out.println(names.remove(one) + " is gone");
                }
            }
        }

        private static ClassLoader runOne(String name, String classPath) throws Exception {
            List<URL> urls = new ArrayList<>();
            for (String each : classPath.split(":")) {
                urls.add(Path.of(each).toUri().toURL());
            }
            URLClassLoader loader = new URLClassLoader(name, urls.toArray(URL[]::new),
                    ClassLoader.getPlatformClassLoader());
            Thread thread = new Thread(() -> {
                try {
                    loader.loadClass(AgentGuest.class.getName()).getMethod("main", String[].class)
                            .invoke(null, (Object) new String[] {"meet",
                                "logged=logged by the provider of " + name});
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException(e);
                }
            });
            thread.setContextClassLoader(loader);
            thread.start();
            thread.join();
            loader.close();
            return loader;
        }
    }

    /** With a copy of this library. */
    private static final class Copy {
        private static void say(String text) {
            System.out.println("> " + text);
        }

        static void options() throws IOException {
            try (Socket socket = new Socket()) {
                if (!socket.supportedOptions().contains(RdmaSocketOptions.TRANSPORT)) {
                    say("the sockets are plain");
                }
                say(socket.getOption(RdmaSocketOptions.TRANSPORT).toString());
                socket.setOption(RdmaSocketOptions.TRANSPORT, Transport.TCP);
                say("set to " + socket.getOption(RdmaSocketOptions.TRANSPORT));
                socket.setOption(RdmaSocketOptions.STREAM_KIND, StreamKind.READ_RING);
                say("STREAM_KIND " + socket.getOption(RdmaSocketOptions.STREAM_KIND));
                socket.setOption(RdmaSocketOptions.RDMA_SQSIZE, 32);
                say("RDMA_SQSIZE " + socket.getOption(RdmaSocketOptions.RDMA_SQSIZE));
                socket.setOption(RdmaSocketOptions.TRANSPORT, null);
            } catch (IllegalArgumentException e) {
                say("null: IllegalArgumentException");
            }
            try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
                    Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                    Socket accepted = server.accept()) {
                Transport transport = client.getOption(RdmaSocketOptions.TRANSPORT);
                say(transport.name() + (transport.is(Transport.SHARED_MEMORY) ? " sharedmemory" : " other"));
                say("accepted " + accepted.getOption(RdmaSocketOptions.TRANSPORT).name());
            }
            RdmaSockets.install();
            say("installed");
        }

        static void meet() throws IOException {
            InetAddress here = InetAddress.getLoopbackAddress();
            try (ServerSocket agents = new ServerSocket(0, 5, here);
                    RdmaServerSocket copys = new RdmaServerSocket(0, 5, here)) {
                try (RdmaSocket client = new RdmaSocket(here, agents.getLocalPort());
                        Socket accepted = agents.accept()) {
                    say("copy to agent: " + exchange(client, accepted));
                }
                try (Socket client = new Socket(here, copys.getLocalPort()); Socket accepted = copys.accept()) {
                    say("agent to copy: " + exchange(client, accepted));
                }
                try (RdmaSocket client = new RdmaSocket(here, copys.getLocalPort());
                        Socket accepted = copys.accept()) {
                    say("copy to copy: " + exchange(client, accepted));
                }
            }
        }
    }

    /** An SLF4J provider that opens a socket while it starts, as one does that reads its settings from a server. */
    public static final class StartingProvider implements SLF4JServiceProvider {
        private final IMarkerFactory markers = new BasicMarkerFactory();
        private final MDCAdapter context = new NOPMDCAdapter();

        @Override
        public void initialize() {
            try {
                System.out.println("provider met over " + AgentGuest.meet());
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public ILoggerFactory getLoggerFactory() {
            return Printer::new;
        }

        @Override
        public IMarkerFactory getMarkerFactory() {
            return markers;
        }

        @Override
        public MDCAdapter getMDCAdapter() {
            return context;
        }

        @Override
        public String getRequestedApiVersion() {
            return "2.0.99";
        }
    }

    private static final class Printer extends LegacyAbstractLogger {
        private static final long serialVersionUID = 1;

        Printer(String name) {
            this.name = name;
        }

        @Override
        protected void handleNormalizedLoggingCall(Level level, Marker marker, String pattern, Object[] arguments,
                Throwable thrown) {
            if (Boolean.getBoolean("provider.throws")) {
                throw new IllegalStateException("this application has been stopped");
            }
            System.out.println("logged by the provider of " + getClass().getClassLoader().getName() + ": " + pattern);
        }

        @Override
        protected String getFullyQualifiedCallerName() {
            return null;
        }

        @Override
        public boolean isTraceEnabled() {
            return false;
        }

        @Override
        public boolean isDebugEnabled() {
            return Boolean.getBoolean("provider.debug");
        }

        @Override
        public boolean isInfoEnabled() {
            return true;
        }

        @Override
        public boolean isWarnEnabled() {
            return true;
        }

        @Override
        public boolean isErrorEnabled() {
            return true;
        }
    }
}
