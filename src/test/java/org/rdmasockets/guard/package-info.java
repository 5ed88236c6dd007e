/**
 * The cost of one message, counted and not timed: bytes of garbage, calls of verbs, completions, copies of each byte.
 * So a data path that became dearer is noticed on any machine, however slow or busy. Also the methods and classes that
 * a write and a read enter, and the heap of an idle connection.
 */
package org.rdmasockets.guard;
