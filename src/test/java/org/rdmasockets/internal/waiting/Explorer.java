package org.rdmasockets.internal.waiting;

import java.lang.reflect.Field;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.rdmasockets.verbs.CompletionQueue;
import org.rdmasockets.verbs.EventPoller;
import org.rdmasockets.verbs.EventSource;
import org.rdmasockets.verbs.VerbsException;

/**
 * Runs a few threads of a {@link Scenario} in every order that matters, to find one in which a wake-up is lost.
 *
 * <p><b>How.</b> {@link ExploredClasses} loads the library's own classes and puts a call of this class in front of each
 * access to memory that threads share: volatile fields, atomics, fences, locks, JCTools queues, park and unpark, and
 * the calls of the device. One thread runs at a time. At each such <em>point</em> the explorer decides which thread
 * runs next, and a run is a list of these decisions; the next run repeats all but the last one, and takes another
 * alternative there (depth first). To leave a thread that could go on (a <em>preemption</em>) costs 1, and no run costs
 * more than the bound: nearly all faults need two at most (Musuvathi and Qadeer, CHESS, PLDI 2007). Accesses to what
 * one thread uses alone, or no thread writes, are no points; the explorer learns which these are, and begins again when
 * it was wrong.
 *
 * <p><b>Memory.</b> Stores are delayed as Java allows it. Each thread has a store buffer, from which its stores come
 * to the others in order, at any later point; to delay one costs 1. The thread itself reads what it has stored. A
 * volatile load waits until the thread's volatile stores are out, but not its release stores; an atomic update, a full
 * fence, and the system call that wakes the poller wait for all. The rest is modelled by its contract and no better: a
 * lock's release, and the offer of a JCTools queue, are release stores; its poll and {@code isEmpty} are acquire loads,
 * which wait for nothing; park and unpark order no memory. So the proof does not depend on a processor, nor on what the
 * locks of today's JDK happen to do more.
 *
 * <p><b>Time.</b> No timer runs. Only a wait with a deadline may end at any point, which costs 1. A run is over when no
 * thread can go on. Then all must have ended, except the poller, which sleeps until an event: a thread that is still
 * parked has lost its wake-up.
 */
public final class Explorer {
    /** A scenario that is run again and again, made anew for each run. */
    public interface Scenario {
        /** Makes the objects that the threads use. The threads that this starts run until none can go on. */
        void setUp(Explorer explorer) throws Exception;

        /** Starts the threads that are explored. */
        void begin();

        /** Starts the threads that come last, when no thread can go on. */
        void end();

        /** After the last step: what is wrong, or null. */
        String fault();
    }

    /** Makes scenarios. */
    public interface Maker {
        /** Makes one. */
        Scenario make() throws ReflectiveOperationException;
    }

    /** A store that other threads do not see yet. */
    private record Store(Object target, String name, Object value, boolean isVolatile, Runnable effect) {}

    /** A thread, and what it waits for. */
    private static final class Runner {
        private final int number;
        private final ArrayDeque<Store> buffer = new ArrayDeque<>();
        /** Stores that a mutant has moved behind the next release of a lock or the next park. */
        private final ArrayDeque<Store> postponed = new ArrayDeque<>();
        private Thread thread;
        private BooleanSupplier until;
        private boolean permit;
        private boolean timed;
        private boolean late;
        private boolean idle;
        private boolean ended;

        Runner(int number) {
            this.number = number;
        }

        boolean canGoOn() {
            return !ended && (until == null || until.getAsBoolean());
        }
    }

    /** The threads that use a field or an object, as bits, and whether any writes it. */
    private static final class Use {
        private int threads;
        private boolean written;

        boolean isShared() {
            return written && Integer.bitCount(threads) > 1;
        }
    }

    /** One decision of a run: what each alternative costs, and which was taken. */
    private static final class Decision {
        private final int[] costs;
        private int taken;

        Decision(int[] costs) {
            this.costs = costs;
        }
    }

    /** A lock. */
    private static final class LockState {
        /** As other threads see it. */
        private boolean taken;
        /** Known to the holder alone. */
        private Runner holder;
    }

    /** A JCTools queue: producers take a place, and fill it later. */
    private static final class QueueState {
        private final ArrayDeque<Object[]> places = new ArrayDeque<>();
    }

    private static final int MAX_STEPS = 3_000;
    private static final int FOREVER_LATE = 1 << 30;
    private static final Map<Class<?>, Map<String, Field>> FIELDS = new HashMap<>();
    private static volatile Explorer current;

    private final Map<String, Use> uses = new HashMap<>();
    private final List<Decision> path = new ArrayList<>();
    private final List<Runner> runners = new ArrayList<>();
    private final Map<Object, Object> states = new IdentityHashMap<>();
    /** The owners of objects, by name: they tell uses of things of one kind apart. */
    private final Map<Object, String> names = new IdentityHashMap<>();
    private final Thread caller = Thread.currentThread();
    private volatile Runner running;
    private int bound;
    private int depth;
    private int steps;
    private int runs;
    /** After what was set up; and at the end, when nothing is decided any more. */
    private boolean exploring;
    private boolean ending;
    private boolean learned;
    private boolean unparkFails;
    private Throwable thrown;
    /** The steps of a run that is repeated to be told. */
    private List<String> told;

    private Explorer() {}

    /** Explores up to a bound; a fault and the run that leads to it, or null. */
    static String explore(Maker maker, int bound) throws Exception {
        Explorer explorer = new Explorer();
        current = explorer;
        try {
            String fault = null;
            for (explorer.bound = 0; explorer.bound <= bound && fault == null; explorer.bound++) {
                fault = explorer.exploreToBound(maker);
            }
            return fault;
        } finally {
            current = null;
        }
    }

    private String exploreToBound(Maker maker) throws Exception {
        path.clear();
        do {
            learned = false;
            String fault = run(maker.make());
            if (learned) {
                path.clear();
            } else if (fault != null) {
                told = new ArrayList<>();
                run(maker.make());
                return fault + ", after " + runs + " runs:\n" + String.join("\n", told);
            }
        } while (learned || advance());
        return null;
    }

    /** Takes the next alternative of the last decision that has one; false if none has. */
    private boolean advance() {
        int spent = 0;
        for (Decision decision : path) {
            spent += decision.costs[decision.taken];
        }
        while (!path.isEmpty()) {
            Decision last = path.removeLast();
            spent -= last.costs[last.taken];
            for (int i = last.taken + 1; i < last.costs.length; i++) {
                if (spent + last.costs[i] <= bound) {
                    last.taken = i;
                    path.add(last);
                    return true;
                }
            }
        }
        return false;
    }

    private String run(Scenario scenario) throws Exception {
        runs++;
        depth = 0;
        steps = 0;
        thrown = null;
        unparkFails = false;
        runners.clear();
        states.clear();
        names.clear();
        exploring = false;
        ending = false;
        scenario.setUp(this);
        runThreads();
        exploring = true;
        scenario.begin();
        runThreads();
        ending = true;
        scenario.end();
        runThreads();
        if (thrown != null) {
            return "a thread has thrown " + thrown;
        }
        for (Runner one : runners) {
            if (!one.ended && !one.idle) {
                return one.thread.getName() + " waits for ever";
            }
        }
        return scenario.fault();
    }

    private void runThreads() {
        point(null);
        while (running != null) {
            LockSupport.park(this);
        }
    }

    /** A thread of the scenario, which runs when it is told. */
    public void start(String name, Runnable body) {
        thread(name, body).start();
    }

    /** Lets one unpark throw. */
    public void failUnpark() {
        unparkFails = true;
    }

    /** Names an object, and what its fields hold. */
    public void name(Object owner, String name) throws IllegalAccessException {
        names.put(owner, name);
        for (Field field : owner.getClass().getDeclaredFields()) {
            if (field.getType().getSimpleName().matches("Waiter|SmallMutex|Mpsc.*")) {
                field.setAccessible(true);
                names.put(field.get(owner), field.getName() + " of " + name);
            }
        }
    }

    private Thread thread(String name, Runnable body) {
        Runner runner = new Runner(runners.size());
        runner.thread = Thread.ofVirtual().name(name).unstarted(() -> {
            awaitTurn(runner);
            try {
                body.run();
            } catch (Throwable e) {
                thrown = e;
            }
            flushPostponed(runner, any -> true);
            runner.ended = true;
            point(runner);
        });
        runners.add(runner);
        names.put(runner.thread, name);
        return runner.thread;
    }

    private void awaitTurn(Runner me) {
        while (running != me) {
            LockSupport.park(this);
        }
    }

    /** Decides what happens next: returns when the calling thread goes on, or if it has ended. */
    private void point(Runner me) {
        while (true) {
            List<Runnable> actions = new ArrayList<>();
            List<Integer> costs = new ArrayList<>();
            boolean goesOn = me != null && me.canGoOn();
            if (goesOn) {
                actions.add(null);
                costs.add(0);
            }
            for (Runner one : runners) {
                if (!one.buffer.isEmpty()) {
                    actions.add(() -> flushOne(one));
                    costs.add(0);
                }
            }
            List<Runner> others = new ArrayList<>();
            for (Runner one : runners) {
                if (one != me && one.canGoOn()) {
                    others.add(one);
                    costs.add(goesOn ? 1 : 0);
                }
            }
            for (Runner one : runners) {
                if (one.timed && !one.canGoOn()) {
                    others.add(one);
                    costs.add(costs.isEmpty() ? 0 : 1);
                }
            }
            if (costs.isEmpty() || thrown != null || ++steps > MAX_STEPS) {
                thrown = thrown == null && steps > MAX_STEPS ? new AssertionError("no end") : thrown;
                hand(me, null);
                return;
            }
            int taken = decide(costs);
            if (taken >= actions.size()) {
                Runner next = others.get(taken - actions.size());
                next.late |= !next.canGoOn();
                hand(me, next);
                return;
            }
            if (actions.get(taken) == null) {
                return;
            }
            actions.get(taken).run();
        }
    }

    private void hand(Runner me, Runner next) {
        if (next == me) {
            return;
        }
        running = next;
        LockSupport.unpark(next == null ? caller : next.thread);
        if (me != null && !me.ended) {
            awaitTurn(me);
        }
    }

    private int decide(List<Integer> costs) {
        if (!exploring || ending || costs.size() == 1) {
            return 0;
        }
        if (depth == path.size()) {
            path.add(new Decision(costs.stream().mapToInt(Integer::intValue).toArray()));
        }
        Decision decision = path.get(depth++);
        if (decision.costs.length != costs.size()) {
            throw new IllegalStateException("a run could not be repeated");
        }
        return decision.taken;
    }

    private static Runner me() {
        Explorer explorer = current;
        Runner me = explorer == null ? null : explorer.running;
        return me != null && me.thread == Thread.currentThread() ? me : null;
    }

    /** A point before something is used, if other threads use it too. */
    private void use(Runner me, Object target, String what, boolean write) {
        if (!exploring) {
            return;
        }
        String name = whole(target, what);
        Use use = uses.computeIfAbsent(name, unknown -> new Use());
        boolean before = use.isShared();
        use.threads |= 1 << me.number;
        use.written |= write;
        learned |= !before && use.isShared();
        if (use.isShared()) {
            point(me);
            tell(me, name);
        }
    }

    private String whole(Object target, String what) {
        String name = names.get(target);
        return name == null ? what : what.concat(name);
    }

    private void tell(Runner me, String what) {
        if (told != null) {
            String place = StackWalker.getInstance().walk(frames -> frames.dropWhile(f -> f.getClassName()
                    .startsWith(Explorer.class.getName())).findFirst()).map(Object::toString).orElse("");
            told.add(me.thread.getName() + ": " + what + " " + place.replaceFirst(".*completion\\.", ""));
        }
    }

    private void store(Runner me, Store store) {
        Use use = uses.get(whole(store.target(), store.name()));
        boolean shared = exploring && use != null && use.isShared();
        if (me.buffer.isEmpty() && (!shared || decide(List.of(0, 1)) == 0)) {
            store.effect().run();
        } else {
            me.buffer.add(store);
            tell(me, "(delays " + store.name() + ")");
        }
    }

    private void flushOne(Runner one) {
        Store store = one.buffer.remove();
        store.effect().run();
        tell(one, "(" + store.name() + " is seen)");
    }

    /** Waits until some stores are out, and what was stored before them; others may come first. */
    private void flush(Runner me, Predicate<Store> which) {
        if (me.buffer.stream().anyMatch(which)) {
            point(me);
        }
        while (me.buffer.stream().anyMatch(which)) {
            flushOne(me);
        }
    }

    private static void flushPostponed(Runner me, Predicate<Store> which) {
        if (me.postponed.stream().anyMatch(which)) {
            current.point(me);
        }
        for (Store store : List.copyOf(me.postponed)) {
            if (which.test(store)) {
                me.postponed.remove(store);
                store.effect().run();
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static <T> T state(Object of, Supplier<T> made) {
        return (T) current.states.computeIfAbsent(of, unknown -> made.get());
    }

    private static Field field(Object target, String name) {
        return FIELDS.computeIfAbsent(target.getClass(), unknown -> new HashMap<>()).computeIfAbsent(name, unknown -> {
            try {
                Field found = target.getClass().getDeclaredField(name);
                found.setAccessible(true);
                return found;
            } catch (NoSuchFieldException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private static void set(Object target, String name, Object value) {
        try {
            field(target, name).set(target, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    // The rewritten classes call the methods that follow.

    /** Reads a volatile field. */
    public static Object get(Object target, String name) {
        Runner me = me();
        if (me != null) {
            current.flush(me, Store::isVolatile);
            current.use(me, target, name, false);
            for (Iterator<Store> own : List.of(me.postponed.descendingIterator(), me.buffer.descendingIterator())) {
                while (own.hasNext()) {
                    Store store = own.next();
                    if (store.target() == target && store.name().equals(name)) {
                        return store.value();
                    }
                }
            }
        }
        try {
            return field(target, name).get(target);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Writes a volatile field. */
    public static void put(Object target, Object value, String name) {
        Runner me = me();
        if (me == null) {
            set(target, name, value);
        } else {
            flushPostponed(me, store -> store.target() == target && store.name().equals(name));
            current.use(me, target, name, true);
            current.store(me, new Store(target, name, value, true, () -> set(target, name, value)));
        }
    }

    /** Comes before an atomic update, or a fence, or a system call that has the effect of one. */
    public static void update(String name) {
        Runner me = me();
        if (me != null) {
            current.flush(me, any -> true);
            current.use(me, null, name, true);
        }
    }

    /** Comes before a full fence. */
    public static void fence() {
        Runner me = me();
        if (me != null) {
            current.flush(me, any -> true);
        }
    }

    /** Comes before the volatile load of an atomic. */
    public static void load(String name) {
        Runner me = me();
        if (me != null) {
            current.flush(me, Store::isVolatile);
            current.use(me, null, name, false);
        }
    }

    /** Comes before a call of the device, or what the device does by itself. */
    public static void device() {
        Runner me = me();
        if (me != null) {
            current.use(me, null, "device", true);
        }
    }

    /** {@code lock}. */
    public static void lock(Object lock) {
        Runner me = me();
        LockState state = state(lock, LockState::new);
        if (me != null) {
            seeOwn(me, lock);
            current.use(me, lock, "lock", true);
            block(me, () -> !state.taken);
        }
        state.taken = true;
        state.holder = me;
    }

    /** {@code tryLock}. */
    public static boolean tryLock(Object lock) {
        Runner me = me();
        LockState state = state(lock, LockState::new);
        if (me != null) {
            seeOwn(me, lock);
            current.use(me, lock, "lock", true);
        }
        if (state.taken) {
            return false;
        }
        state.taken = true;
        state.holder = me;
        return true;
    }

    /** {@code unlock}. */
    public static void unlock(Object lock) {
        Runner me = me();
        LockState state = state(lock, LockState::new);
        if (!state.taken || state.holder != me) {
            throw new IllegalMonitorStateException();
        }
        state.holder = null;
        if (me == null) {
            state.taken = false;
        } else {
            current.use(me, lock, "lock", true);
            current.store(me, new Store(lock, "lock", null, false, () -> state.taken = false));
            flushPostponed(me, store -> store.target() instanceof CompletionQueue);
        }
    }

    /** {@code isHeldByCurrentThread}. */
    public static boolean isHeldByCurrentThread(Object lock) {
        LockState state = state(lock, LockState::new);
        return state.taken && state.holder != null && state.holder == me();
    }

    /** {@code offer} of a queue of JCTools. */
    public static boolean offer(Object queue, Object element) {
        Runner me = me();
        QueueState state = state(queue, QueueState::new);
        Object[] place = new Object[1];
        if (me != null) {
            current.use(me, queue, "queue", true);
        }
        state.places.add(place);
        if (me == null) {
            place[0] = element;
        } else {
            current.use(me, queue, "queue", true);
            current.store(me, new Store(queue, "queue", element, false, () -> place[0] = element));
        }
        return true;
    }

    /** {@code relaxedPoll} of a queue of JCTools. */
    public static Object relaxedPoll(Object queue) {
        Object first = first(queue, true);
        if (first != null) {
            state(queue, QueueState::new).places.remove();
        }
        return first;
    }

    /** {@code relaxedPeek} of a queue of JCTools. */
    public static Object relaxedPeek(Object queue) {
        return first(queue, false);
    }

    private static Object first(Object queue, boolean takes) {
        Runner me = me();
        if (me != null) {
            seeOwn(me, queue);
            current.use(me, queue, "queue", takes);
        }
        ArrayDeque<Object[]> places = state(queue, QueueState::new).places;
        return places.isEmpty() ? null : places.peek()[0];
    }

    /** {@code isEmpty} of a queue of JCTools. */
    public static boolean isEmpty(Object queue) {
        Runner me = me();
        if (me != null) {
            current.use(me, queue, "queue", false);
        }
        return state(queue, QueueState::new).places.isEmpty();
    }

    /** A thread sees what it has stored in a lock or a queue itself. */
    private static void seeOwn(Runner me, Object target) {
        current.flush(me, store -> store.target() == target);
    }

    private static void block(Runner me, BooleanSupplier until) {
        if (!until.getAsBoolean()) {
            me.until = until;
            current.point(me);
            me.until = null;
        }
    }

    /** {@code LockSupport.park}. */
    public static void park(Object blocker) {
        park(false);
    }

    /** {@code LockSupport.parkNanos}. */
    public static void parkNanos(Object blocker, long nanos) {
        park(nanos > 0);
    }

    private static void park(boolean timed) {
        Runner me = me();
        flushPostponed(me, any -> true);
        current.use(me, me.thread, "permit", true);
        me.timed = timed;
        block(me, () -> me.permit || me.late);
        me.timed = false;
        current.tell(me, me.permit ? "(is unparked)" : "(is late)");
        me.permit = false;
    }

    /** {@code LockSupport.unpark}. */
    public static void unpark(Object thread) {
        Runner me = me();
        if (me != null) {
            current.use(me, thread, "permit", true);
        }
        if (current.unparkFails) {
            current.unparkFails = false;
            throw new StackOverflowError("a test's");
        }
        for (Runner one : current.runners) {
            one.permit |= one.thread == thread;
        }
    }

    /** {@code System.nanoTime}: 0 until a timed park has ended in vain. */
    public static long nanoTime() {
        Runner me = me();
        return me != null && me.late ? FOREVER_LATE : 0;
    }

    /** {@code EventPoller.await}, without timers. */
    @SuppressWarnings("unchecked")
    public static int await(Object events, int timeoutMillis, Object ready) throws VerbsException {
        Runner me = me();
        current.use(me, null, "events", true);
        flushPostponed(me, any -> true);
        me.idle = true;
        block(me, () -> timeoutMillis == 0 || ((BooleanSupplier) events).getAsBoolean());
        me.idle = false;
        return ((EventPoller) events).await(0, (Consumer<? super EventSource>) ready);
    }

    /** {@code LibraryThreads.unstarted}. */
    public static Thread unstarted(Object name, Object task) {
        return current.thread((String) name, (Runnable) task);
    }

    /** {@code Thread.isVirtual}: all but the poller's. */
    public static boolean isVirtual(Object thread) {
        return !current.runners.getFirst().thread.equals(thread);
    }

    // And by the rewritten classes of mutants: what should come now comes after the next release of a lock, or park.

    /** As {@link #put}, too late. */
    public static void putLate(Object target, Object value, String name) {
        Runner me = me();
        if (me == null) {
            set(target, name, value);
        } else {
            me.postponed.add(new Store(target, name, value, true, () -> set(target, name, value)));
        }
    }

    /** {@code AtomicInteger.incrementAndGet}, too late. */
    public static int incrementAndGetLate(Object count) {
        me().postponed.add(new Store(null, "", null, true, ((AtomicInteger) count)::incrementAndGet));
        return 0;
    }

    /** {@code CompletionQueue.requestNotification}, too late. */
    public static void requestNotificationLate(Object queue) throws VerbsException {
        Runner me = me();
        if (me == null) {
            ((CompletionQueue) queue).requestNotification();
        } else {
            me.postponed.add(new Store(queue, "", null, true, () -> {
                try {
                    ((CompletionQueue) queue).requestNotification();
                } catch (VerbsException e) {
                    throw new IllegalStateException(e);
                }
            }));
        }
    }
}
