package org.rdmasockets.fault;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.SendRequest;
import org.rdmasockets.verbs.VerbsProvider;
import org.rdmasockets.verbs.spi.TransportProvider;

/**
 * A provider through which a test sees the queue pairs of connections and holds threads that use them, and which
 * withholds events of connections.
 */
final class WatchedVerbs {
    private final VerbsProvider target;
    private final VerbsProvider provider;
    private final Predicate<ConnectionEvent> told;
    private final List<QueuePair> queuePairs = new CopyOnWriteArrayList<>();
    /** Identifiers that were made and not closed. */
    private final AtomicInteger open = new AtomicInteger();
    /** Runs in each thread that is about to call a method of a queue pair or of an identifier; gets its name. */
    private volatile Consumer<String> beforeCall = name -> { };
    /** Those that came with a request. */
    private final Set<ConnectionIdentifier> requests = ConcurrentHashMap.newKeySet();
    /** Answers of this provider in place of those of the wrapped one, by the name of the method. */
    private final Map<String, Object> said = new ConcurrentHashMap<>();
    /** Capabilities that devices lack, even if they claim them. */
    private volatile Set<Capability> lacking = Set.of();
    /** Told of each request that is about to be posted. */
    private volatile BiConsumer<QueuePair, SendRequest> beforePost = (queuePair, request) -> { };
    /** Told of each request that was posted; may throw. */
    private volatile Consumer<QueuePair> afterPost = queuePair -> { };
    /** Told of each call of an identifier of {@link #requests}, before it is made; may throw. */
    private volatile Consumer<String> requestCalls = name -> { };
    /** Connection managers, devices and identifiers by what stands in their place, for what they are given to. */
    private final Map<Object, Object> plain = new ConcurrentHashMap<>();
    private final Map<Object, Object> standIns = new ConcurrentHashMap<>();
    private final Map<ConnectionIdentifier, ConnectionIdentifier> identifiers = new ConcurrentHashMap<>();

    /**
     * A provider.
     *
     * @param target does the work
     * @param told whether an event reaches its handler
     */
    WatchedVerbs(VerbsProvider target, Predicate<ConnectionEvent> told) {
        this.target = target;
        this.told = told;
        provider = proxy(TransportProvider.class, this::onProvider);
    }

    /** The answer of a stand-in. */
    private interface Answer {
        Object to(Method method, Object[] arguments) throws Throwable;
    }

    private static <T> T proxy(Class<T> type, Answer answer) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> System.identityHashCode(proxy);
                    default -> answer.to(method, arguments);
                }));
    }

    private static Object pass(Object to, Method method, Object... arguments) throws Throwable {
        try {
            method.setAccessible(true);
            return method.invoke(to, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** From now on it takes time to find a way, and calls may block, as over a device. */
    void behaveAsDevice() {
        said.put("mayBlock", true);
        said.put("resolveAtOnce", false);
    }

    /** From now on a client hears the answer to its request after the listening end does, as events come. */
    void answerInTurn() {
        said.put("resolveAtOnce", false);
    }

    /** From now on connections cannot be rehearsed. */
    void rehearseNothing() {
        said.put("rehearsal", Optional.empty());
    }

    /** From now on as over a device of iWARP, whose completions prove nothing, and where a send follows a write. */
    void behaveAsIwarp() {
        behaveAsDevice();
        lacking = EnumSet.of(Capability.COMPLETION_IS_DELIVERY, Capability.IMMEDIATE_DATA, Capability.EMPTY_RECEIVE,
                Capability.COPIES_AT_POST);
    }

    /** To be put in the place of the one that does the work. */
    VerbsProvider provider() {
        return provider;
    }

    /** Before each call of an identifier that came with a request, tells a consumer, which may throw. */
    void onRequestCall(Consumer<String> calls) {
        requestCalls = calls;
    }

    /** How many identifiers of connections there are now, and of listeners. */
    int openIdentifiers() {
        return open.get();
    }

    /** Queue pairs in the order in which they were made: of a connection, first that of the client. */
    List<QueuePair> queuePairs() {
        return queuePairs;
    }

    /** From now on, each thread that is about to call a method of a queue pair or of an identifier tells its name. */
    void beforeCall(Consumer<String> task) {
        beforeCall = task;
    }

    /** From now on, each thread that is about to post a request tells where, and which, before it is posted. */
    void beforePost(BiConsumer<QueuePair, SendRequest> task) {
        beforePost = task;
    }

    /** From now on, each thread that has posted a request tells where, before it hears so; may throw. */
    void afterPost(Consumer<QueuePair> task) {
        afterPost = task;
    }

    private Object onProvider(Method method, Object[] arguments) throws Throwable {
        if (arguments != null && arguments[0] instanceof ConnectionIdentifier identifier) {
            beforeCall.accept(method.getName());
            arguments[0] = plain.get(identifier);
        }
        Object answer = said.get(method.getName());
        Object result = answer != null ? answer : pass(target, method, arguments);
        return switch (result) {
            case ConnectionManager manager -> {
                ConnectionManager standIn = proxy(ConnectionManager.class, (m, a) -> onManager(manager, m, a));
                plain.put(standIn, manager);
                standIns.put(manager, standIn);
                yield standIn;
            }
            case EventPoller poller -> proxy(EventPoller.class, (m, a) -> onPoller(poller, m, a));
            case null, default -> result;
        };
    }

    private Object onManager(ConnectionManager manager, Method method, Object[] arguments) throws Throwable {
        return method.getName().equals("createIdentifier")
                ? standIn((ConnectionIdentifier) pass(manager, method, filtered((ConnectionHandler) arguments[0])))
                : pass(manager, method, arguments);
    }

    @SuppressWarnings("unchecked")
    private Object onPoller(EventPoller poller, Method method, Object[] arguments) throws Throwable {
        if (method.getName().equals("add") || method.getName().equals("remove")) {
            return pass(poller, method, plain.getOrDefault(arguments[0], arguments[0]));
        } else if (method.getName().equals("await")) {
            Consumer<Object> ready = (Consumer<Object>) arguments[1];
            return poller.await((int) arguments[0],
                    source -> ready.accept(standIns.getOrDefault(source, source)));
        }
        return pass(poller, method, arguments);
    }

    private ConnectionIdentifier standIn(ConnectionIdentifier identifier) {
        return identifiers.computeIfAbsent(identifier, i -> {
            open.incrementAndGet();
            ConnectionIdentifier standIn = proxy(ConnectionIdentifier.class, (m, a) -> onIdentifier(identifier, m, a));
            plain.put(standIn, identifier);
            return standIn;
        });
    }

    private Object onIdentifier(ConnectionIdentifier identifier, Method method, Object[] arguments) throws Throwable {
        beforeCall.accept(method.getName());
        if (requests.contains(identifier)) {
            requestCalls.accept(method.getName());
        }
        if (method.getName().equals("handler")) {
            return pass(identifier, method, filtered((ConnectionHandler) arguments[0]));
        }
        if (method.getName().equals("close") && identifiers.remove(identifier) != null) {
            open.decrementAndGet();
            requests.remove(identifier);
        }
        Object result = pass(identifier, method, arguments);
        if (result instanceof QueuePair queuePair) {
            queuePairs.add(queuePair);
            return proxy(QueuePair.class, (m, a) -> {
                beforeCall.accept(m.getName());
                if (m.getName().equals("postSend")) {
                    beforePost.accept(queuePair, (SendRequest) a[0]);
                }
                Object answer = pass(queuePair, m, a);
                if (m.getName().equals("postSend")) {
                    afterPost.accept(queuePair);
                }
                return answer;
            });
        }
        return result instanceof Device device && !lacking.isEmpty() ? standIn(device) : result;
    }

    private Object standIn(Device device) {
        Object standIn = standIns.computeIfAbsent(device, d -> proxy(Device.class, (m, a) ->
                m.getName().equals("supports") && lacking.contains((Capability) a[0]) ? false : pass(device, m, a)));
        plain.put(standIn, device);
        return standIn;
    }

    private ConnectionHandler filtered(ConnectionHandler handler) {
        return (identifier, event) -> {
            if (event instanceof ConnectionEvent.ConnectRequest request) {
                requests.add(request.identifier());
                handler.onEvent(known(identifier),
                        new ConnectionEvent.ConnectRequest(standIn(request.identifier()), request.parameters()));
            } else if (told.test(event)) {
                handler.onEvent(known(identifier), event);
            }
        };
    }

    /** The stand-in, unless the identifier has been closed meanwhile. */
    private ConnectionIdentifier known(ConnectionIdentifier identifier) {
        return identifiers.getOrDefault(identifier, identifier);
    }
}
