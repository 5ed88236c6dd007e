package org.rdmasockets;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
    private static final String SLF4J = "org.slf4j";
    private static final String IBVERBS = ROOT + ".provider.ibverbs";
    private static final String LOG = ROOT + ".log";
    private static final String LOCK = ROOT + ".lock";
    private static final String OS = ROOT + ".provider.os";
    private static final String SHARED_MEMORY = ROOT + ".provider.sharedmemory";

    /** Package to the packages it may use besides itself and java.base. A package that is not a key is refused. */
    private static final Map<String, Set<String>> ALLOWED = Map.ofEntries(
            entry(ROOT, Set.of(ROOT + ".choice", ROOT + ".datagram", ROOT + ".transport", ROOT + ".verbs",
                    ROOT + ".provider", LOCK, "jdk.net")),
            entry(ROOT + ".agent", Set.of(ROOT, ROOT + ".choice", LOG, SLF4J, SLF4J + ".event",
                    SLF4J + ".helpers", SLF4J + ".spi", "java.lang.instrument")),
            entry(ROOT + ".endpoint", Set.of(ROOT + ".choice", ROOT + ".transport", ROOT + ".completion",
                    ROOT + ".verbs", ROOT + ".provider", LOCK, LOG)),
            entry(ROOT + ".rpc", Set.of(ROOT, ROOT + ".rpc.call", ROOT + ".rpc.session", LOCK)),
            entry(ROOT + ".grpc", Set.of(ROOT, ROOT + ".rpc", ROOT + ".rpc.call", ROOT + ".rpc.session", LOCK, LOG,
                    "io.grpc")),
            entry(ROOT + ".rpc.session", Set.of(ROOT, ROOT + ".rpc.call", LOCK)),
            entry(ROOT + ".rpc.call", Set.of(ROOT + ".endpoint", ROOT + ".verbs", LOCK, LOG)),
            entry(ROOT + ".datagram", Set.of(ROOT + ".choice", ROOT + ".transport", ROOT + ".completion",
                    ROOT + ".verbs", ROOT + ".provider", SHARED_MEMORY, LOCK, LOG)),
            entry(ROOT + ".choice", Set.of(ROOT + ".transport", ROOT + ".verbs", ROOT + ".provider", LOG)),
            entry(ROOT + ".transport", Set.of(ROOT + ".stream", ROOT + ".completion", ROOT + ".verbs", LOCK, LOG)),
            entry(ROOT + ".stream", Set.of(ROOT + ".verbs")),
            entry(ROOT + ".completion", Set.of(ROOT + ".verbs", LOCK, LOG, "org.jctools.queues",
                    "org.jctools.queues.varhandle", "org.jctools.queues.varhandle.unpadded",
                    "java.lang.management", "jdk.management")),
            entry(ROOT + ".verbs", Set.of()),
            entry(LOG, Set.of(LOCK, SLF4J, "java.util.logging")),
            entry(LOCK, Set.of()),
            entry(ROOT + ".provider", Set.of(ROOT + ".verbs", IBVERBS, SHARED_MEMORY)),
            entry(IBVERBS, Set.of(ROOT + ".verbs", IBVERBS + ".generated", OS, LOCK, LOG)),
            entry(IBVERBS + ".generated", Set.of()),
            entry(SHARED_MEMORY, Set.of(ROOT + ".verbs", LOCK, SHARED_MEMORY + ".link", LOG)),
            entry(SHARED_MEMORY + ".link", Set.of(ROOT + ".verbs", LOCK, OS, LOG)),
            entry(OS, Set.of(ROOT + ".verbs", LOCK)));

    /** Calls into native code, as prefixes, and the packages that alone may make them: no lint watches them. */
    private static final Pattern NATIVE = Pattern.compile("java/lang/("
            + "foreign/(Linker|SymbolLookup|MemorySegment.reinterpret)|(System|Runtime).load)");
    /** Where segments get a shorter life than their memory has; it makes no other native call. */
    private static final String VIEWS = "org/rdmasockets/transport/DirectView";
    private static final String REINTERPRET = "java/lang/foreign/MemorySegment.reinterpret";
    private static final Set<String> NATIVE_ALLOWED = Set.of(IBVERBS, IBVERBS + ".generated", OS);

    /** What the protocol state machine must not know, as prefixes: threads, waiting, the clock. */
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
            boolean waits = (home.equals(ROOT + ".stream")
                    || name.matches("org/rdmasockets/rpc/session/(Session|Packet)"))
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
