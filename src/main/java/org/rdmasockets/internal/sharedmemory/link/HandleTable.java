package org.rdmasockets.internal.sharedmemory.link;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Objects by numbers that others name them by. A number is an index and, in its lower bits, a generation that differs
 * each time the index is used again, so that a late number rarely finds another object than its own. 0 names nothing.
 * Any thread may call; finding takes no lock.
 */
public final class HandleTable<T> {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(Object[].class);
    private static final int FIRST_CAPACITY = 64;

    private final int generationBits;
    private final int most;
    /** By index; entries are written under this monitor by release, read by acquire. */
    private volatile Object[] objects = new Object[FIRST_CAPACITY];
    /** The last number of each index; guarded by this. */
    private int[] numbers = new int[FIRST_CAPACITY];
    /** Indexes given back; guarded by this. */
    private final ArrayDeque<Integer> free = new ArrayDeque<>();
    /** The first index never used; guarded by this. */
    private int next = 1;

    /** A table of at most so many objects, whose numbers end with so many generation bits. */
    public HandleTable(int generationBits, int most) {
        this.generationBits = generationBits;
        this.most = most;
    }

    /** Gives out a number, which finds nothing until {@link #put}; 0 if there are no more. */
    public synchronized int reserve() {
        int index = free.isEmpty() ? next : free.peek();
        if (index > most) {
            return 0;
        }
        if (index == numbers.length) {
            Object[] more = Arrays.copyOf(objects, 2 * index);
            numbers = Arrays.copyOf(numbers, 2 * index); // before the objects: a finder looks there first, then here
            objects = more;
        }
        if (free.poll() == null) {
            numbers[next++] = index << generationBits;
        }
        return numbers[index];
    }

    /** Lets a number find an object, instead of what it found before; nothing happens if it is 0 or was taken back. */
    public synchronized void put(int number, T object) {
        int index = number >>> generationBits;
        if (number != 0 && numbers[index] == number) {
            ELEMENT.setRelease(objects, index, (Object) object);
        }
    }

    /**
     * Takes a number back, once: it finds nothing from now on. Close the object first: a thread that looks at the same
     * time may still find it. 0, or a number that was taken back just now, does no harm; later it may be another
     * object's.
     */
    public synchronized void remove(int number) {
        int index = number >>> generationBits;
        if (number != 0 && numbers[index] == number) {
            ELEMENT.setRelease(objects, index, (Object) null);
            numbers[index] = index << generationBits | number + 1 & (1 << generationBits) - 1;
            free.add(index);
        }
    }

    /** Finds the object of any number, or null. */
    @SuppressWarnings("unchecked") // nothing else is put in
    public T find(int number) {
        Object[] all = objects;
        int index = number >>> generationBits;
        Object found = index < all.length ? ELEMENT.getAcquire(all, index) : null;
        return found != null && numbers[index] == number ? (T) found : null;
    }

    /** All objects. */
    @SuppressWarnings("unchecked") // as above
    public synchronized List<T> all() {
        return (List<T>) Arrays.stream(objects).filter(Objects::nonNull).toList();
    }
}
