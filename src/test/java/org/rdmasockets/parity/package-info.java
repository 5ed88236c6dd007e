/**
 * Holds docs/parity.md to what there is: each of its rows names classes and members of the library and the tests that
 * show the row, and these have to exist, and the tests to run.
 */
package org.rdmasockets.parity;
