package org.rdmasockets.provider.sharedmemory.link;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Numbers for sources, as they are told to the kernel. A number holds an index and how often the index was given out,
 * so that a late event of a closed source finds nobody. Any thread may call.
 */
final class SourceTable {
    private static final int INDEX_BITS = 32;

    /** A place for a source. */
    private static final class Place {
        private final int index;
        /** Not 0 to begin with, so that no number is 0. */
        private long generation = 1;
        private Source source;

        Place(int index) {
            this.index = index;
        }

        long id() {
            return generation << INDEX_BITS | index;
        }
    }

    /** Guarded by this. */
    private final List<Place> places = new ArrayList<>();
    /** Places without a source; guarded by this. */
    private final ArrayDeque<Place> free = new ArrayDeque<>();

    /** Adds a source: its number. */
    synchronized long add(Source source) {
        Place place = free.poll();
        if (place == null) {
            place = new Place(places.size());
            places.add(place);
        }
        place.source = source;
        return place.id();
    }

    private Place place(long id) {
        Place place = (int) id < places.size() ? places.get((int) id) : null;
        return place != null && place.id() == id ? place : null;
    }

    /** The source of a number, or null if it was removed. */
    synchronized Source get(long id) {
        Place place = place(id);
        return place == null ? null : place.source;
    }

    /** Puts another source in the place of one that is there. */
    synchronized void replace(long id, Source source) {
        Place place = place(id);
        if (place != null) {
            place.source = source;
        }
    }

    /** Removes a source, if it is there. */
    synchronized void remove(long id) {
        Place place = place(id);
        if (place != null) {
            place.source = null;
            place.generation++;
            free.push(place);
        }
    }

    /** All sources. */
    synchronized List<Source> all() {
        List<Source> all = new ArrayList<>();
        for (Place place : places) {
            if (place.source != null) {
                all.add(place.source);
            }
        }
        return all;
    }
}
