package org.rdmasockets.guard;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.rdmasockets.verbs.Capability;
import org.rdmasockets.verbs.CompletionChannel;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.ConnectionEvent;
import org.rdmasockets.verbs.ConnectionHandler;
import org.rdmasockets.verbs.ConnectionIdentifier;
import org.rdmasockets.verbs.ConnectionManager;
import org.rdmasockets.verbs.Device;
import org.rdmasockets.verbs.DeviceEvent;
import org.rdmasockets.verbs.DeviceInfo;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.QueuePair;
import org.rdmasockets.verbs.QueuePairConfig;
import org.rdmasockets.verbs.VerbsException;
import org.rdmasockets.verbs.VerbsProvider;
import org.rdmasockets.verbs.spi.TransportProvider;

/**
 * A provider that passes everything on to another, and counts on the data path. Objects of the control path become
 * proxies that only put counted objects in the place of plain ones, and the reverse on the way down.
 */
final class CountedVerbs implements TransportProvider {
    private static final List<Class<?>> CONTROL = List.of(Device.class, ConnectionManager.class,
            ConnectionIdentifier.class);

    private final TransportProvider target;
    private final Counts counts;
    /** Plain to counted, so that each has one counted object. */
    private final Map<Object, Object> wrapped = new ConcurrentHashMap<>();

    /** Passes the calls of a proxy on to the plain object. */
    private record Passing(CountedVerbs verbs, Object plain) implements InvocationHandler {
        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            if (method.getName().equals("equals")) {
                return proxy == arguments[0];
            }
            Object[] plainArguments = arguments == null ? new Object[0] : arguments.clone();
            for (int i = 0; i < plainArguments.length; i++) {
                plainArguments[i] = verbs.unwrap(plainArguments[i]);
            }
            try {
                method.setAccessible(true);
                return verbs.wrap(method.invoke(plain, plainArguments));
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }
    }

    /**
     * A provider.
     *
     * @param target does the work
     * @param counts where to count
     */
    CountedVerbs(VerbsProvider target, Counts counts) {
        this.target = (TransportProvider) target;
        this.counts = counts;
    }

    /** Where to count. */
    Counts counts() {
        return counts;
    }

    /** The counted object for a plain one; what is not of verbs stays what it is. */
    Object wrap(Object plain) {
        return switch (plain) {
            case QueuePair pair -> new CountedQueuePair(pair,
                    pair.config().sendQueue().device().supports(Capability.COPIES_AT_POST), counts);
            case CompletionQueue queue -> queue(queue);
            case CompletionChannel channel -> wrapped.computeIfAbsent(channel,
                    c -> new CountedChannel(channel, this));
            case ConnectionEvent.ConnectRequest request -> new ConnectionEvent.ConnectRequest(
                    (ConnectionIdentifier) wrap(request.identifier()), request.parameters());
            case DeviceEvent event when event.completionQueue() != null -> new DeviceEvent(event.type(),
                    event.queuePairNumber(), (CompletionQueue) wrap(event.completionQueue()), event.portNumber(),
                    event.number());
            case null -> null;
            default -> CONTROL.stream().filter(c -> c.isInstance(plain)).findFirst()
                    .map(c -> proxy(c, plain)).orElse(plain);
        };
    }

    /** The counted queue for a plain one; allocates nothing from the second time on. */
    CompletionQueue queue(CompletionQueue plain) {
        Object known = wrapped.get(plain);
        if (known == null) {
            Device device = (Device) wrap(plain.device());
            known = wrapped.computeIfAbsent(plain, p -> new CountedQueue(plain, device, counts));
        }
        return (CompletionQueue) known;
    }

    private Object proxy(Class<?> type, Object plain) {
        return wrapped.computeIfAbsent(plain, p -> Proxy.newProxyInstance(type.getClassLoader(),
                new Class<?>[] {type}, new Passing(this, p)));
    }

    /** The plain object for a counted one; handlers are given counted objects. */
    @SuppressWarnings("unchecked")
    Object unwrap(Object counted) {
        return switch (counted) {
            case CountedQueue queue -> queue.target();
            case CountedChannel channel -> channel.target();
            case QueuePairConfig c -> new QueuePairConfig((CompletionQueue) unwrap(c.sendQueue()),
                    (CompletionQueue) unwrap(c.receiveQueue()), c.maxSends(), c.maxReceives(), c.maxSendElements(),
                    c.maxReceiveElements(), c.maxInlineBytes(), c.signalAll());
            case ConnectionHandler handler -> (ConnectionHandler) (identifier, event) ->
                    handler.onEvent((ConnectionIdentifier) wrap(identifier), (ConnectionEvent) wrap(event));
            case Consumer<?> consumer -> (Consumer<Object>) o -> ((Consumer<Object>) consumer).accept(wrap(o));
            case Predicate<?> predicate -> (Predicate<Object>) o -> ((Predicate<Object>) predicate).test(wrap(o));
            case null -> null;
            default -> Proxy.isProxyClass(counted.getClass())
                    && Proxy.getInvocationHandler(counted) instanceof Passing passing ? passing.plain() : counted;
        };
    }

    @Override
    public String name() {
        return target.name();
    }

    @Override
    public Optional<String> unavailability() {
        return target.unavailability();
    }

    @Override
    public List<DeviceInfo> devices() throws VerbsException {
        return target.devices();
    }

    @Override
    public Device open(String name) throws VerbsException {
        return (Device) wrap(target.open(name));
    }

    @Override
    public EventPoller createEventPoller() throws VerbsException {
        return new CountedEvents(target.createEventPoller(), this);
    }

    @Override
    public ConnectionManager createConnectionManager() throws VerbsException {
        return (ConnectionManager) wrap(target.createConnectionManager());
    }

    @Override
    public boolean resolveAtOnce(ConnectionIdentifier identifier, InetSocketAddress destination)
            throws VerbsException {
        return target.resolveAtOnce((ConnectionIdentifier) unwrap(identifier), destination);
    }

    @Override
    public boolean isPeerStopped(ConnectionIdentifier identifier) {
        return target.isPeerStopped((ConnectionIdentifier) unwrap(identifier));
    }

    @Override
    public OptionalInt peerUser(ConnectionIdentifier identifier) {
        return target.peerUser((ConnectionIdentifier) unwrap(identifier));
    }
}
