package org.rdmasockets.internal.lock;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
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
    private static final int FIRST_CAPACITY = 16;

    private final int generationBits;
    private final int most;
    /** By index; entries are written under this monitor by release, read by acquire. */
    private volatile Object[] objects = new Object[FIRST_CAPACITY];
    /** The last number of each index; guarded by this. */
    private int[] numbers = new int[FIRST_CAPACITY];
    /**
     * Indexes given back, a ring from {@link #firstFree} with room for all, so that to give one back needs no memory;
     * guarded by this, as are the next two.
     */
    private int[] free = new int[FIRST_CAPACITY];
    private int firstFree;
    private int freeCount;
    /** The first index never used; guarded by this. */
    private int next = 1;

    /** A table of at most so many objects, whose numbers end with so many generation bits. */
    public HandleTable(int generationBits, int most) {
        this.generationBits = generationBits;
        this.most = most;
    }

    /** Gives out a number, which finds nothing until {@link #put}; 0 if there are no more. */
    public synchronized int reserve() {
        if (freeCount > 0) {
            int index = free[firstFree];
            firstFree = (firstFree + 1) % free.length;
            freeCount--;
            return numbers[index];
        }
        if (next > most) {
            return 0;
        }
        if (next == numbers.length) {
            int[] moreFree = new int[2 * next]; // none is free
            Object[] more = Arrays.copyOf(objects, 2 * next);
            numbers = Arrays.copyOf(numbers, 2 * next); // before the objects: a finder looks there first, then here
            free = moreFree;
            firstFree = 0;
            objects = more;
        }
        numbers[next] = next << generationBits;
        return numbers[next++];
    }

    /**
     * Lets a number find an object, or null, instead of what it found before; nothing happens if it is 0 or was taken
     * back.
     */
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
            free[(firstFree + freeCount++) % free.length] = index;
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
