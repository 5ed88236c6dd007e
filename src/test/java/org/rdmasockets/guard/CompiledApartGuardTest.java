package org.rdmasockets.guard;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.Attributes;
import java.lang.classfile.ClassFile;
import java.lang.classfile.MethodModel;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The share of the compilers in a connect. They take a method into each of its callers if it has at most so many bytes,
 * and compile those callers with it; so the longest walk, from an application down, is compiled again for each step on
 * it. Some steps are longer, on purpose: the walk is compiled in parts there.
 */
class CompiledApartGuardTest {
    /** {@code -XX:FreqInlineSize}. */
    private static final int MOST_INLINED_BYTES = 325;

    @ParameterizedTest
    @CsvSource({"internal.connection.Dialer, dial", "internal.connection.StreamTransport, allocate",
        "internal.connection.VerbsListener, onEvent",
        "internal.sharedmemory.LinkDispatcher, onEntry"})
    void noCallerIsCompiledWithIt(String type, String name) throws IOException, ClassNotFoundException {
        int bytes = longest(Class.forName("org.rdmasockets." + type), name);
        assertTrue(bytes > MOST_INLINED_BYTES, () -> name + " has " + bytes + " bytes, so each of its callers is "
                + "compiled with it: part a connect elsewhere, or fold into it what only it calls");
    }

    private static int longest(Class<?> type, String name) throws IOException {
        String file = type.getName().substring(type.getPackageName().length() + 1) + ".class";
        try (InputStream in = type.getResourceAsStream(file)) {
            return ClassFile.of().parse(in.readAllBytes()).methods().stream()
                    .filter(method -> method.methodName().equalsString(name)).mapToInt(CompiledApartGuardTest::bytes)
                    .max().orElseThrow();
        }
    }

    private static int bytes(MethodModel method) {
        return method.findAttribute(Attributes.code()).map(code -> code.codeLength()).orElse(0);
    }
}
