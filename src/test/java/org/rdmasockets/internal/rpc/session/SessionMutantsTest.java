package org.rdmasockets.internal.rpc.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The model test finds faults: each of these, put into the session, makes it fail; and nothing changed does not. */
@Timeout(300)
class SessionMutantsTest {
    private static final Path SOURCES = Path.of("src", "main", "java", "org", "rdmasockets", "internal", "rpc",
            "session");
    private static final String PACKAGE = "org.rdmasockets.internal.rpc.session.";
    private static final int RUNS = 30;
    private static final int PACKETS = 3000;

    /** Loads the session's package from a mutant first. */
    private static final class MutantLoader extends URLClassLoader {
        MutantLoader(URL... places) {
            super(places, SessionMutantsTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(PACKAGE)) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded == null ? findClass(name) : loaded;
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            an old packet is taken again | Session | if (ahead < 0 OR ahead >= WINDOW | if (ahead >= WINDOW
            damage is not seen | Packet | sum != checksum(from, start, from.remaining()) | false
            a selective acknowledgement is off by one | Session | 1L << beyond - 1 | 1L << beyond
            the peer's limit never rises | Session | limit = Math.max(limit, | limit = Math.min(limit,
            what the peer was told never rises | Session | granted = Math.max(granted, | granted = Math.min(granted,
            there is no timer for retransmission | Session | if (timer <= now) { | if (timer < 0) {
            a piece is sent from the wrong place | Session | offsets[slot] = taken; | offsets[slot] = 0;
            what has come counts as lost yet | Session | lost &= ~bit; | lost &= -1;
            too much is acknowledged | Session | out.acknowledged = expected; | out.acknowledged = expected + 1;
            a message ends too early | Session | taken + length == message.length | taken + length >= message.length - 9
            """)
    void isCaught(String what, String file, String code, String wrong, @TempDir Path folder) throws Exception {
        assertTrue(fails(file, code.replace("OR", "||"), wrong, folder), "the model does not see that " + what);
    }

    @ParameterizedTest
    @CsvSource({"Session, Session", "Packet, Packet"})
    void nothingWrongIsNotCaught(String file, String same, @TempDir Path folder) throws Exception {
        assertFalse(fails(file, "final class " + same + " {", "final class " + same + " {", folder));
    }

    private static boolean fails(String file, String code, String wrong, Path folder) throws Exception {
        compile(file, code, wrong, folder);
        try (MutantLoader loader = new MutantLoader(folder.toUri().toURL(), Path.of("target/classes").toUri().toURL(),
                Path.of("target/test-classes").toUri().toURL())) {
            Method run = loader.loadClass(PACKAGE + "SessionModelTest").getDeclaredMethod("run", long.class, long.class,
                    int.class, int.class, int.class);
            run.setAccessible(true);
            for (long seed = 0; seed < RUNS; seed++) {
                run.invoke(null, seed, PACKETS, 10, 5, 3);
            }
            return false;
        } catch (InvocationTargetException e) {
            return true;
        }
    }

    private static void compile(String file, String code, String wrong, Path folder) throws IOException {
        String source = Files.readString(SOURCES.resolve(file + ".java"));
        assertTrue(source.contains(code), file + " has no " + code);
        Path mutant = folder.resolve(file + ".java");
        Files.writeString(mutant, source.replace(code, wrong));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        assertEquals(0, compiler.run(null, null, null, "-nowarn", "-cp", Path.of("target", "classes").toString(), "-d",
                folder.toString(), mutant.toString()));
    }
}
