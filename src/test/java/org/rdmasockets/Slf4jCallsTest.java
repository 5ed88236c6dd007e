package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.constantpool.MemberRefEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Only what SLF4J 1.7 has is called: the program's SLF4J may be old. Left out is the isolated library's own provider,
 * which has its own SLF4J.
 */
class Slf4jCallsTest {
    private static final Set<String> IN_1_7 = Set.of("LoggerFactory.getLogger", "Logger.debug", "Logger.info",
            "Logger.warn", "Logger.error", "Logger.isDebugEnabled", "Logger.isInfoEnabled", "Logger.getClass");
    /** Further calls of the agent to the application's SLF4J; 1.7 has them, too. */
    private static final Set<String> FORWARDER_1_7 = Set.of("LoggerFactory.getILoggerFactory",
            "ILoggerFactory.getLogger", "Logger.getName", "Logger.trace", "Logger.isTraceEnabled",
            "Logger.isWarnEnabled", "Logger.isErrorEnabled");
    private static final Pattern OWN_SLF4J = Pattern.compile(".*/agent/(LogProvider|ApplicationLogger).*");
    private static final String SLF4J = "org/slf4j/";

    @Test
    void callsAreThoseOfTheOldestVersion() throws IOException {
        Set<String> calls = new TreeSet<>();
        try (Stream<Path> files = Files.walk(Path.of("target", "classes"))) {
            for (Path file : (Iterable<Path>) files.filter(Slf4jCallsTest::mayMeetAnOldOne)::iterator) {
                for (PoolEntry entry : ClassFile.of().parse(file).constantPool()) {
                    if (entry instanceof MemberRefEntry member && member.owner().asInternalName().startsWith(SLF4J)) {
                        calls.add(member.owner().asInternalName().substring(SLF4J.length()) + "."
                                + member.name().stringValue());
                    }
                }
            }
        }
        assertFalse(calls.isEmpty(), "no call was found, so nothing was checked");
        calls.removeAll(IN_1_7);
        calls.removeAll(FORWARDER_1_7);
        assertEquals(Set.of(), calls);
    }

    private static boolean mayMeetAnOldOne(Path file) {
        return file.toString().endsWith(".class") && !OWN_SLF4J.matcher(file.toString()).matches();
    }
}
