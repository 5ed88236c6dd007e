/**
 * Callers at the end of their stack. {@code StackEnd} gets there, a {@code Scene} has the objects whose methods are
 * called there and the bystanders, who must not notice.
 */
package org.rdmasockets.overflow;
