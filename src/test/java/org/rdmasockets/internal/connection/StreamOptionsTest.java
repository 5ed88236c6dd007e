package org.rdmasockets.internal.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.internal.connection.StreamOptions.Option;
import org.rdmasockets.internal.rsockets.FlowKind;

/** The options of a connection to be. */
class StreamOptionsTest {
    private static final StreamOptions DEFAULT = StreamOptions.DEFAULT;

    @ParameterizedTest
    @EnumSource(Option.class)
    void eachNumberStaysInItsRangeAndMatters(Option option) {
        StreamOptions most = DEFAULT.with(option, Integer.MAX_VALUE);
        StreamOptions least = DEFAULT.with(option, Integer.MIN_VALUE);
        assertEquals(option.most(), most.get(option));
        assertEquals(option.least(), least.get(option));
        assertNotEquals(most, least);
        assertNotEquals(most.hashCode(), least.hashCode(), "a poor hash code");
        assertSame(most, most.with(option, option.most()));
        assertEquals(DEFAULT, most.with(option, DEFAULT.get(option)));
        assertEquals(DEFAULT.hashCode(), most.with(option, DEFAULT.get(option)).hashCode());
        for (Option other : Option.values()) {
            assertEquals(other == option ? option.most() : DEFAULT.get(other), most.get(other), other.name());
        }
    }

    @Test
    void theOthersMatterToo() {
        assertNotEquals(DEFAULT, DEFAULT.withKeepAlive(!DEFAULT.keepAlive()));
        assertSame(DEFAULT, DEFAULT.withKeepAlive(DEFAULT.keepAlive()));
        for (FlowKind kind : FlowKind.values()) {
            StreamOptions other = DEFAULT.withStreamKind(kind.name());
            assertEquals(kind.name(), other.streamKind());
            assertEquals(kind == DEFAULT.flow(), other.equals(DEFAULT));
        }
    }

    /** The protocol has no number between 128 and 256. */
    @Test
    void mapsAreNumbersOfTheProtocol() {
        assertEquals(128, DEFAULT.with(Option.MAPS, 200).get(Option.MAPS));
    }
}
