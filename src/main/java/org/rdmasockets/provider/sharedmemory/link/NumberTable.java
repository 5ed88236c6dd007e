package org.rdmasockets.provider.sharedmemory.link;

import java.util.function.Consumer;

/**
 * Objects by numbers, of which thousands may be there: a hash table with open addressing, where one takes a third of
 * what it would take in a {@code HashMap}. Not for several threads at once.
 */
public final class NumberTable<T> {
    /** At most three quarters of the table are full. */
    private static final int FIRST_CAPACITY = 16;

    /** Valid where there is an object. */
    private int[] numbers = new int[FIRST_CAPACITY];
    private Object[] objects = new Object[FIRST_CAPACITY];
    private int size;

    /** Nothing is in it. */
    public NumberTable() {}

    /** How many objects there are. */
    public int size() {
        return size;
    }

    /** Where a number would be if there were no others: neighbours are likely, so they are spread. */
    private int home(int number) {
        return number * PeerRegions.SPREAD >>> Integer.numberOfLeadingZeros(objects.length - 1);
    }

    private int after(int place) {
        return place + 1 & objects.length - 1;
    }

    /** Where a number is, or would be. */
    private int find(int number) {
        int place = home(number);
        while (objects[place] != null && numbers[place] != number) {
            place = after(place);
        }
        return place;
    }

    /** The object of any number, or null. */
    public T get(int number) {
        return object(find(number));
    }

    @SuppressWarnings("unchecked") // nothing else is put in
    private T object(int place) {
        return (T) objects[place];
    }

    /** Puts an object, not null, in; gives the object that the number had before, or null. */
    public T put(int number, T object) {
        if (4 * (size + 1) > 3 * objects.length) {
            grow();
        }
        int place = find(number);
        T before = object(place);
        numbers[place] = number;
        objects[place] = object;
        size += before == null ? 1 : 0;
        return before;
    }

    private void grow() {
        int[] oldNumbers = numbers;
        Object[] oldObjects = objects;
        Object[] moreObjects = new Object[2 * oldObjects.length];
        numbers = new int[2 * oldNumbers.length]; // both or none
        objects = moreObjects;
        for (int i = 0; i < oldObjects.length; i++) {
            if (oldObjects[i] != null) {
                int place = find(oldNumbers[i]);
                numbers[place] = oldNumbers[i];
                objects[place] = oldObjects[i];
            }
        }
    }

    /** Takes the object of any number out, or null. */
    public T remove(int number) {
        int gap = find(number);
        T removed = object(gap);
        if (removed == null) {
            return null;
        }
        size--;
        // Who lies behind the gap because a place up to there was taken moves into it, and leaves the next gap.
        for (int i = after(gap); objects[i] != null; i = after(i)) {
            int mask = objects.length - 1;
            if ((i - home(numbers[i]) & mask) >= (i - gap & mask)) {
                numbers[gap] = numbers[i];
                objects[gap] = objects[i];
                gap = i;
            }
        }
        objects[gap] = null;
        return removed;
    }

    /** Does something with all objects; it must not change the table. */
    public void forEach(Consumer<? super T> action) {
        for (int i = 0; i < objects.length; i++) {
            if (objects[i] != null) {
                action.accept(object(i));
            }
        }
    }
}
