package org.rdmasockets;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.MemberRefEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.constantpool.Utf8Entry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Holds the direction of dependencies: what each package of the main classes may refer to, by its class files. */
class PackageDependencyTest {
    private static final Path CLASSES = Path.of("target", "classes");
    private static final String ROOT = "org.rdmasockets";
    /** All that no user names. */
    private static final String INSIDE = ROOT + ".internal";
    private static final String SLF4J = "org.slf4j";
    private static final String VERBS = ROOT + ".verbs";
    private static final String SPI = VERBS + ".spi";
    private static final String SOCKET = INSIDE + ".socket";
    private static final String SELECTION = INSIDE + ".selection";
    private static final String CONNECTION = INSIDE + ".connection";
    private static final String RSOCKETS = INSIDE + ".rsockets";
    private static final String WAITING = INSIDE + ".waiting";
    private static final String PROVIDER = INSIDE + ".provider";
    private static final String IBVERBS = INSIDE + ".ibverbs";
    private static final String SHARED_MEMORY = INSIDE + ".sharedmemory";
    private static final String FFI = INSIDE + ".ffi";
    private static final String DATAGRAM = INSIDE + ".datagram";
    private static final String CALL = INSIDE + ".rpc.call";
    private static final String SESSION = INSIDE + ".rpc.session";
    private static final String LOG = INSIDE + ".log";
    private static final String LOCK = INSIDE + ".lock";

    /** The packages that a user names, or a provider of verbs, as the module exports them. */
    private static final Set<String> PRODUCTS = Set.of(ROOT, VERBS, SPI, ROOT + ".endpoint", ROOT + ".rpc",
            ROOT + ".grpc", ROOT + ".micrometer");

    /** Package to the packages it may use besides itself and java.base. A package that is not a key is refused. */
    private static final Map<String, Set<String>> ALLOWED = Map.ofEntries(
            entry(ROOT, Set.of(SOCKET, SELECTION, DATAGRAM, CONNECTION, VERBS, PROVIDER, LOCK, "jdk.net")),
            // The root's other half, which names its values.
            entry(SOCKET, Set.of(ROOT, SELECTION, CONNECTION, LOCK, LOG, "jdk.net", "java.lang.management",
                    "javax.management")),
            entry(INSIDE + ".agent", Set.of(ROOT, SELECTION, LOG, SLF4J, SLF4J + ".event", SLF4J + ".helpers",
                    SLF4J + ".spi", "java.lang.instrument")),
            entry(INSIDE + ".doctor", Set.of(ROOT, VERBS, PROVIDER, FFI, "java.util.logging", "com.sun.tools.attach")),
            entry(ROOT + ".endpoint", Set.of(SELECTION, CONNECTION, WAITING, VERBS, PROVIDER, LOCK, LOG)),
            entry(ROOT + ".rpc", Set.of(ROOT, CALL, SESSION, LOCK)),
            entry(ROOT + ".grpc", Set.of(ROOT, ROOT + ".rpc", CALL, SESSION, LOCK, LOG, "io.grpc",
                    "io.grpc.internal", "com.google.common.util.concurrent")),
            entry(ROOT + ".micrometer", Set.of(ROOT, SOCKET, CONNECTION, "io.micrometer.core.instrument",
                    "io.micrometer.core.instrument.binder")),
            entry(SESSION, Set.of(ROOT, DATAGRAM, CALL, LOCK)),
            entry(CALL, Set.of(ROOT + ".endpoint", VERBS, LOCK, LOG)),
            entry(DATAGRAM, Set.of(SELECTION, CONNECTION, WAITING, VERBS, PROVIDER, SHARED_MEMORY, LOCK, LOG)),
            entry(SELECTION, Set.of(CONNECTION, VERBS, PROVIDER, LOG)),
            entry(CONNECTION, Set.of(RSOCKETS, WAITING, VERBS, SPI, LOCK, LOG, "jdk.jfr")),
            entry(RSOCKETS, Set.of(VERBS, SPI)),
            entry(WAITING, Set.of(VERBS, LOCK, LOG, "org.jctools.queues", "org.jctools.queues.varhandle",
                    "org.jctools.queues.varhandle.unpadded", "java.lang.management", "jdk.management")),
            entry(VERBS, Set.of()),
            entry(SPI, Set.of(VERBS)),
            entry(LOG, Set.of(LOCK, SLF4J, "java.util.logging")),
            entry(LOCK, Set.of()),
            entry(PROVIDER, Set.of(VERBS, IBVERBS, SHARED_MEMORY)),
            entry(IBVERBS, Set.of(VERBS, SPI, IBVERBS + ".generated", FFI, LOCK, LOG)),
            entry(IBVERBS + ".generated", Set.of()),
            entry(SHARED_MEMORY, Set.of(VERBS, SPI, LOCK, SHARED_MEMORY + ".link", LOG)),
            entry(SHARED_MEMORY + ".link", Set.of(VERBS, LOCK, FFI, LOG)),
            entry(FFI, Set.of(VERBS, LOCK)));

    /** Calls into native code, as prefixes, and the packages that alone may make them: no lint watches them. */
    private static final Pattern NATIVE = Pattern.compile("java/lang/("
            + "foreign/(Linker|SymbolLookup|MemorySegment.reinterpret)|(System|Runtime).load)");
    /** Where segments get a shorter life than their memory has; it makes no other native call. */
    private static final String VIEWS = "org/rdmasockets/internal/connection/DirectView";
    private static final String REINTERPRET = "java/lang/foreign/MemorySegment.reinterpret";
    private static final Set<String> NATIVE_ALLOWED = Set.of(IBVERBS, IBVERBS + ".generated", FFI);

    /** Prefixes of names that the protocol state machine must not use: threads, waiting, the clock. */
    private static final Pattern NOT_IN_STREAM = Pattern.compile("java/(time/|util/(Timer|concurrent/(locks/|[A-Z]))"
            + "|lang/(Thread|System.(nanoTime|currentTimeMillis|getLogger)))");

    private static final Pattern TYPE_IN_DESCRIPTOR = Pattern.compile("L((?:\\w+/)+[\\w$]+)[;<]");

    @Test
    void packagesDependDownwardsOnly() throws IOException {
        List<String> violations = new ArrayList<>();
        int classes = 0;
        try (Stream<Path> files = Files.walk(CLASSES)) {
            for (Path file : (Iterable<Path>) files.filter(f -> f.toString().endsWith(".class"))::iterator) {
                ClassModel model = ClassFile.of().parse(file);
                if (!model.isModuleInfo()) {
                    classes++;
                    check(model, violations);
                }
            }
        }
        assertTrue(violations.isEmpty(), () -> String.join("\n", violations));
        assertFalse(classes == 0, "no class under " + CLASSES.toAbsolutePath());
    }

    /** A user sees the products; all else is inside, whether it is public or not. */
    @Test
    void allElseIsInternal() {
        for (String home : ALLOWED.keySet()) {
            assertTrue(PRODUCTS.contains(home) || home.startsWith(INSIDE + "."), home);
        }
        assertTrue(ALLOWED.keySet().containsAll(PRODUCTS));
    }

    @Test
    void noSimpleNameStandsTwice() throws IOException {
        Map<String, Path> seen = new HashMap<>();
        try (Stream<Path> files = Files.walk(Path.of("src", "main", "java"))) {
            for (Path file : (Iterable<Path>) files.filter(f -> f.toString().endsWith(".java")
                    && !f.endsWith("package-info.java"))::iterator) {
                Path other = seen.put(file.getFileName().toString(), file);
                assertNull(other, () -> file + " has the name of " + other);
            }
        }
        assertFalse(seen.isEmpty());
    }

    private static void check(ClassModel model, List<String> violations) {
        String name = model.thisClass().asInternalName();
        String home = packageOf(name);
        Set<String> allowed = ALLOWED.get(home);
        if (allowed == null) {
            violations.add(name + " is in a package without a rule in " + PackageDependencyTest.class.getSimpleName());
            return;
        }
        for (String used : references(model)) {
            String target = packageOf(used);
            boolean known = target.equals(home) || allowed.contains(target) || isJavaBase(target);
            boolean reserved = NATIVE.matcher(used).lookingAt() && !NATIVE_ALLOWED.contains(home)
                    && !(name.equals(VIEWS) && used.equals(REINTERPRET));
            boolean waits = (home.equals(RSOCKETS)
                    || name.matches("org/rdmasockets/internal/rpc/session/(Session|Packet)"))
                    && NOT_IN_STREAM.matcher(used).lookingAt();
            if (!known || reserved || waits) {
                violations.add(name + " must not use " + used);
            }
        }
    }

    /** All classes that the class names, as {@code a/b/C}, and all members, as {@code a/b/C.m}. */
    private static Set<String> references(ClassModel model) {
        Set<String> references = new TreeSet<>();
        for (PoolEntry entry : model.constantPool()) {
            switch (entry) {
                case ClassEntry c when !c.asInternalName().startsWith("[") ->
                        references.add(c.asInternalName());
                case MemberRefEntry m when !m.owner().asInternalName().startsWith("[") ->
                        references.add(m.owner().asInternalName() + "." + m.name().stringValue());
                case Utf8Entry u -> {
                    Matcher types = TYPE_IN_DESCRIPTOR.matcher(u.stringValue());
                    while (types.find()) {
                        references.add(types.group(1));
                    }
                }
                default -> {
                }
            }
        }
        return references;
    }

    private static String packageOf(String reference) {
        return reference.substring(0, reference.lastIndexOf('/')).replace('/', '.');
    }

    private static boolean isJavaBase(String packageName) {
        return Object.class.getModule().getPackages().contains(packageName);
    }
}
