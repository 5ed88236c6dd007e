package org.rdmasockets.endpoint;

import java.util.ArrayList;
import java.util.List;

/**
 * How nodes find out that all of them have arrived.
 *
 * @since 0.1
 */
public enum BarrierKind {
    /** All tell the first, which tells all: two steps, and one node does all the work. */
    CENTRAL {
        @Override
        List<Step> steps(int place, int count) {
            List<Step> steps = new ArrayList<>();
            for (int other = 1; other < count && place == 0; other++) {
                steps.add(Step.hear(other));
            }
            for (int other = 1; other < count && place == 0; other++) {
                steps.add(Step.tell(other));
            }
            if (place > 0) {
                steps.add(Step.tell(0));
                steps.add(Step.hear(0));
            }
            return steps;
        }
    },
    /** Each tells its parent when its children have arrived, and its children when its parent says so. */
    BINARY_TREE {
        @Override
        List<Step> steps(int place, int count) {
            List<Integer> children = new ArrayList<>();
            for (int child = 2 * place + 1; child <= 2 * place + 2 && child < count; child++) {
                children.add(child);
            }
            List<Step> steps = new ArrayList<>();
            children.forEach(child -> steps.add(Step.hear(child)));
            if (place > 0) {
                steps.add(Step.tell((place - 1) / 2));
                steps.add(Step.hear((place - 1) / 2));
            }
            children.forEach(child -> steps.add(Step.tell(child)));
            return steps;
        }
    },
    /** In each round each tells the one twice as far away as before: as many rounds as the binary logarithm says. */
    DISSEMINATION {
        @Override
        List<Step> steps(int place, int count) {
            List<Step> steps = new ArrayList<>();
            for (int distance = 1; distance < count; distance *= 2) {
                steps.add(Step.tell((place + distance) % count));
                steps.add(Step.hear((place - distance + count) % count));
            }
            return steps;
        }
    };

    /** One step at a barrier: tell the one at a place of the list, or wait until that tells. */
    record Step(boolean tell, int place) {
        static Step tell(int place) {
            return new Step(true, place);
        }

        static Step hear(int place) {
            return new Step(false, place);
        }
    }

    /** The steps, in order, of the one at a place among those who take part. */
    abstract List<Step> steps(int place, int count);
}
