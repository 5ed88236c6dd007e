/**
 * The choice of the implementation of verbs.
 *
 * <p>{@link org.rdmasockets.internal.provider.Providers} is the only class that names concrete providers; everything
 * above knows {@code org.rdmasockets.verbs} alone. Any thread may ask.
 */
package org.rdmasockets.internal.provider;
