package org.rdmasockets.overflow;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.rdmasockets.contract.Call;
import org.rdmasockets.contract.ThreadKind;
import org.rdmasockets.verbs.VerbsProvider;

/**
 * Objects of the library, with all that they need, and others beside them. Each public method of each object is called
 * at the end of the stack; after that the others go on, there are new ones, and the object works or has failed.
 */
abstract class Scene {
    /** Calls between two looks at a new connection. */
    private static final int BETWEEN = 8;
    private static final String LIBRARY = "org.rdmasockets";
    private static final Pattern DEVICES
            = Pattern.compile("org\\.rdmasockets\\.internal\\.(ibverbs|sharedmemory)\\b.*");

    private final Deque<AutoCloseable> kept = new ArrayDeque<>();
    /** Makers of arguments, of which the first that fits is taken; changed by {@link Subject#make}. */
    private final List<Callable<?>> values = new ArrayList<>();

    /**
     * One object.
     *
     * @param make makes it, and the arguments of its methods
     * @param use uses what it belongs to; ends in any case
     * @param left methods that would wait for ever where they work, beside others of their name that do not
     */
    record Subject(Callable<?> make, User use, Set<String> left) {
        Subject(Callable<?> make, User use, String... left) {
            this(make, use, Set.of(left));
        }
    }

    /** Uses an object. */
    @FunctionalInterface
    interface User {
        /**
         * Uses it.
         *
         * @param object the object that {@link Subject#make} has made
         * @throws Exception if it has failed, with a message
         */
        void use(Object object) throws Exception;
    }

    /** The objects. */
    abstract List<Subject> subjects();

    /** Uses the connections that have been there all the time. */
    abstract void bystanders() throws Exception;

    /** Another one comes, and takes part. */
    abstract void newcomer() throws Exception;

    /** Closes something at the end of an object's turn. */
    final <T extends AutoCloseable> T keep(T one) {
        synchronized (kept) {
            kept.push(one);
        }
        return one;
    }

    private void closeKept() throws Exception {
        while (!kept.isEmpty()) {
            kept.pop().close();
        }
        values.clear();
    }

    /** Something for parameters, new for each call. */
    final void value(Callable<?> one) {
        values.add(one);
    }

    private Object[] arguments(Method method) throws Exception {
        Class<?>[] types = method.getParameterTypes();
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            arguments[i] = argument(types[i], method.getGenericParameterTypes()[i].getTypeName());
        }
        return arguments;
    }

    private Object argument(Class<?> type, String fullType) throws Exception {
        for (Callable<?> one : values) {
            Object value = one.call();
            if (type.isInstance(value) && (!(value instanceof List<?> list)
                    || fullType.contains(list.getFirst().getClass().getName()))) {
                return value;
            }
        }
        Object simple = Arguments.simple(type);
        if (simple == null) {
            throw new AssertionError("nothing for a parameter of " + type + " of " + getClass());
        }
        return simple;
    }

    /**
     * The public methods of an object that its class says more of than {@code Object}, and those of the library's that
     * need no object; of what a device made, those of its interface.
     */
    private static List<Method> methods(Object object) {
        Class<?> type = object.getClass();
        String verbs = VerbsProvider.class.getPackageName();
        while (DEVICES.matcher(type.getPackageName()).matches()) {
            type = Arrays.stream(type.getInterfaces()).filter(i -> i.getPackageName().startsWith(verbs))
                    .<Class<?>>map(i -> i).findFirst().orElse(type.getSuperclass());
        }
        while (!Modifier.isPublic(type.getModifiers())) {
            type = type.getSuperclass() == Object.class && type.getInterfaces().length > 0 ? type.getInterfaces()[0]
                    : type.getSuperclass();
        }
        return Arrays.stream(type.getMethods())
                .filter(m -> m.getDeclaringClass() != Object.class && !m.isBridge()
                        && (!Modifier.isStatic(m.getModifiers())
                                || m.getDeclaringClass().getPackageName().startsWith(LIBRARY)))
                .sorted(Comparator.comparing(Method::toString)).toList();
    }

    /** Calls everything; gives how many methods that were. */
    final int run(ThreadKind kind) throws Exception {
        int called = 0;
        for (Subject subject : subjects()) {
            Object model = subject.make().call();
            closeKept();
            for (Method method : methods(model)) {
                if (!subject.left().contains(method.getName())
                        && !subject.left().contains(method.getName() + "/" + method.getParameterCount())) {
                    overflow(kind, subject, method);
                    called++;
                    if (called % BETWEEN == 0) {
                        check(method + ", then a new one", this::newcomer);
                    }
                }
            }
        }
        return called;
    }

    private void overflow(ThreadKind kind, Subject subject, Method method) throws Exception {
        String what = kind + " " + method;
        invoke(subject.make().call(), method); // loads what it needs
        closeKept();
        Object object = subject.make().call();
        Object[] results = new Object[StackEnd.CALLS];
        int[] next = {0};
        StackEnd.reach(kind, what, () -> {
            int at = next[0]++;
            results[at] = method.invoke(object, arguments(method));
            close(results[at]);
            results[at] = null;
        });
        for (Object result : results) {
            if (result instanceof AutoCloseable one) {
                keep(one); // there was no room to close it
            }
        }
        check(what + ", then others", this::bystanders);
        Call<Void> use = Call.run(ThreadKind.VIRTUAL, what + ", then use", () -> subject.use().use(object));
        try {
            use.result();
        } catch (Exception e) {
            if (e.getMessage() == null) {
                throw new AssertionError(what + ": it has failed without saying why", e);
            }
        }
        Call.run(ThreadKind.VIRTUAL, what + ", then close", this::closeKept).result();
    }

    private void invoke(Object object, Method method) throws Exception {
        Call<Void> call = Call.run(ThreadKind.VIRTUAL, "warm-up of " + method, () -> {
            try {
                close(method.invoke(object, arguments(method)));
            } catch (InvocationTargetException e) {
                return; // not in this state, or not with these arguments
            }
        });
        call.result();
    }

    private static void close(Object result) throws Exception {
        if (result instanceof AutoCloseable one) {
            one.close();
        }
    }

    private static void check(String what, Call.Action action) throws Exception {
        try {
            Call.run(ThreadKind.VIRTUAL, what, action).result();
        } catch (Throwable e) {
            throw new AssertionError("after " + what, e);
        }
    }

    /** Closes everything. */
    void end() throws Exception {
        closeKept();
    }
}
