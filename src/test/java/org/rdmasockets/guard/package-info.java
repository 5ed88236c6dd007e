/**
 * What one message costs, counted and not timed: bytes of garbage, calls of verbs, completions, copies of each byte. So
 * a data path that became dearer is noticed on any machine, however slow or busy. What
 * a write and a read enter, in methods and classes. And what an idle connection takes of the heap.
 */
package org.rdmasockets.guard;
