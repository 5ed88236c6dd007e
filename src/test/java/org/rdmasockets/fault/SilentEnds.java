package org.rdmasockets.fault;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * A provider whose connection manager never says that a connection has ended: as soft-RoCE's, which may take more than
 * a minute when the answer to its request to disconnect is lost.
 */
final class SilentEnds {
    private final VerbsProvider target;
    private final VerbsProvider provider;
    /** Identifiers that were made and not closed. */
    private final AtomicInteger open = new AtomicInteger();
    /** Connection managers by what stands in their place, for pollers. */
    private final Map<Object, Object> plain = new ConcurrentHashMap<>();
    private final Map<Object, Object> standIns = new ConcurrentHashMap<>();
    private final Map<ConnectionIdentifier, ConnectionIdentifier> identifiers = new ConcurrentHashMap<>();

    /**
     * A provider.
     *
     * @param target does the work
     */
    SilentEnds(VerbsProvider target) {
        this.target = target;
        provider = proxy(VerbsProvider.class, this::onProvider);
    }

    /** What a stand-in does instead. */
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

    /** To be put in the place of the one that does the work. */
    VerbsProvider provider() {
        return provider;
    }

    /** How many identifiers of connections there are now, and of listeners. */
    int openIdentifiers() {
        return open.get();
    }

    private Object onProvider(Method method, Object[] arguments) throws Throwable {
        Object result = pass(target, method, arguments);
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
                ? standIn((ConnectionIdentifier) pass(manager, method, quiet((ConnectionHandler) arguments[0])))
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
            return proxy(ConnectionIdentifier.class, (m, a) -> onIdentifier(identifier, m, a));
        });
    }

    private Object onIdentifier(ConnectionIdentifier identifier, Method method, Object[] arguments) throws Throwable {
        if (method.getName().equals("handler")) {
            return pass(identifier, method, quiet((ConnectionHandler) arguments[0]));
        }
        if (method.getName().equals("close") && identifiers.remove(identifier) != null) {
            open.decrementAndGet();
        }
        return pass(identifier, method, arguments);
    }

    private ConnectionHandler quiet(ConnectionHandler handler) {
        return (identifier, event) -> {
            switch (event) {
                case ConnectionEvent.Disconnected disconnected -> { }
                case ConnectionEvent.ConnectRequest request -> handler.onEvent(known(identifier),
                        new ConnectionEvent.ConnectRequest(standIn(request.identifier()), request.parameters()));
                default -> handler.onEvent(known(identifier), event);
            }
        };
    }

    /** The stand-in, unless the identifier has been closed meanwhile. */
    private ConnectionIdentifier known(ConnectionIdentifier identifier) {
        return identifiers.getOrDefault(identifier, identifier);
    }
}
