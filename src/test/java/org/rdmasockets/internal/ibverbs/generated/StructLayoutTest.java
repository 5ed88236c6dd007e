package org.rdmasockets.internal.ibverbs.generated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.SequenceLayout;
import java.lang.foreign.UnionLayout;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

/**
 * Compares the generated bindings with what C compilers make of the same headers, for this processor and for aarch64.
 * Reflection finds the
 * bindings: nothing is listed here, so a struct, field or constant added to them is covered at once.
 *
 * <p>Needs {@code cc} and the headers of libibverbs and librdmacm; without them the tests are skipped and say why. The
 * compiler for aarch64, Debian's package gcc-aarch64-linux-gnu, is used where it is installed.
 */
@Timeout(120)
class StructLayoutTest {

    /** Fewer than these were compared: reflection no longer finds what it should. */
    private static final int MIN_STRUCTS = 40;
    private static final int MIN_FIELDS = 500;
    private static final int MIN_CONSTANTS = 300;

    private static final int COMMAND_TIMEOUT_SECONDS = 50;

    /** Where surefire says the project is, or else the working directory. */
    private static final Path HEADERS = Path.of(System.getProperty("basedir", "")).resolve("src/main/jextract");

    @TempDir
    private Path directory;

    /**
     * Where the bindings, which are those of x86-64, may differ on aarch64: {@code pthread_mutex_t} has 48 bytes there
     * instead of 40. Nothing that comes behind a mutex is used but two constants, which {@code DeviceFacts} corrects.
     */
    private static final Pattern BEHIND_MUTEX = Pattern.compile("IBV_CONTEXT_ABI_COMPAT|VERBS_CONTEXT_BYTES"
            + "|sizeof\\(struct ibv_(cq|qp|srq)\\)|offsetof\\(struct ibv_(cq|qp|srq), (cond|.*events_completed).*\\)");
    private static final int MUTEX_GROWTH = 8;
    /** Newer libraries append a field; {@code ibv_query_port} fills the struct of its first version. */
    private static final String APPENDED = "sizeof(struct ibv_port_attr)";
    /** Members that are glibc's own: version 2.41 has others, in as many bytes. Nothing uses them. */
    private static final Pattern INSIDE_CONDITION = Pattern.compile(
            ".*(__pthread_cond_s|cond\\.__|pthread_cond_t.*__).*");

    /** A compiler, and the machine that it compiles for. */
    private record Compiler(String command, String machine) {
        /** Whether an expression may be so much more than in the bindings. */
        boolean isKnown(String expression, long difference) {
            return isOther() && difference == MUTEX_GROWTH && BEHIND_MUTEX.matcher(expression).matches()
                    || difference > 0 && expression.equals(APPENDED);
        }

        /** Whether an expression has a meaning: the members of a mutex differ, too. */
        boolean knows(String expression) {
            return !(isOther() && expression.contains("mutex")) && !INSIDE_CONDITION.matcher(expression).matches();
        }

        private boolean isOther() {
            return machine.startsWith("aarch64");
        }
    }

    /** A constant expression of C, and the value it has in the bindings. */
    private record Check(String expression, long value) {}

    /** The answer of a command: its exit code, and standard output and error together. */
    private record Answer(int exitCode, String output) {}

    @Test
    void everyStructAndFieldLiesWhereTheCompilerPutsIt() throws Exception {
        List<Check> checks = new ArrayList<>();
        for (Class<?> type : generatedClasses()) {
            if (!isHeaderClass(type)) {
                addStruct(checks, type, typeInC(type));
            }
        }
        assertAtLeast(MIN_STRUCTS, countDistinct(checks, "_Alignof"), "structs");
        assertAtLeast(MIN_FIELDS, countDistinct(checks, "offsetof"), "fields");
        assertCompilerAgrees(checks);
    }

    @Test
    void everyConstantHasTheValueOfTheHeaders() throws Exception {
        List<Check> checks = new ArrayList<>();
        for (Class<?> type : generatedClasses()) {
            if (isHeaderClass(type)) {
                addConstants(checks, type);
            }
        }
        assertAtLeast(MIN_CONSTANTS, checks.size(), "constants");
        assertCompilerAgrees(checks);
    }

    /** Adds size, alignment and fields of the struct, by its layout and by its accessors, and of those nested in it. */
    private static void addStruct(List<Check> checks, Class<?> type, String typeInC) throws Exception {
        GroupLayout layout = layoutOf(type);
        checks.add(new Check("sizeof(%s)".formatted(typeInC), layout.byteSize()));
        checks.add(new Check("_Alignof(%s)".formatted(typeInC), layout.byteAlignment()));
        addMembers(checks, typeInC, "", layout, 0);
        addAccessors(checks, type, typeInC);
        for (Class<?> nested : type.getDeclaredClasses()) {
            if (hasLayout(nested)) {
                addStruct(checks, nested, "__typeof__(((%s *) 0)->%s)".formatted(typeInC, nested.getSimpleName()));
            }
        }
    }

    /** Adds the members of a group that starts at {@code offset}; those of a member without a name count as its own. */
    private static void addMembers(List<Check> checks, String typeInC, String prefix, GroupLayout group, long offset) {
        long memberOffset = offset;
        for (MemoryLayout member : group.memberLayouts()) {
            if (isAnonymous(member)) {
                addMembers(checks, typeInC, prefix, (GroupLayout) member, memberOffset);
            } else if (!(member instanceof PaddingLayout)) {
                addField(checks, typeInC, prefix + member.name().orElseThrow(), member, memberOffset);
            }
            memberOffset += group instanceof UnionLayout ? 0 : member.byteSize();
        }
    }

    /** Adds offset and size of a field, and goes on into the fields of its struct or into the first of its elements. */
    private static void addField(List<Check> checks, String typeInC, String path, MemoryLayout field, long offset) {
        checks.add(new Check("offsetof(%s, %s)".formatted(typeInC, path), offset));
        checks.add(new Check("sizeof(((%s *) 0)->%s)".formatted(typeInC, path), field.byteSize()));
        if (field instanceof GroupLayout group) {
            addMembers(checks, typeInC, path + ".", group, offset);
        } else if (field instanceof SequenceLayout sequence) {
            addField(checks, typeInC, path + "[0]", sequence.elementLayout(), offset);
        }
    }

    /** Adds what the accessors of a struct work with: {@code field$offset()} and {@code field$layout()}. */
    private static void addAccessors(List<Check> checks, Class<?> type, String typeInC) throws Exception {
        for (Method offset : type.getDeclaredMethods()) {
            if (offset.getName().endsWith("$offset")) {
                String field = offset.getName().replace("$offset", "");
                MemoryLayout layout = (MemoryLayout) type.getDeclaredMethod(field + "$layout").invoke(null);
                checks.add(new Check("offsetof(%s, %s)".formatted(typeInC, field), (long) offset.invoke(null)));
                checks.add(new Check("sizeof(((%s *) 0)->%s)".formatted(typeInC, field), layout.byteSize()));
            }
        }
    }

    /** Adds the constants of a header class: its methods without parameters that belong to no function. */
    private static void addConstants(List<Check> checks, Class<?> type) throws Exception {
        List<String> names = Arrays.stream(type.getDeclaredMethods()).map(Method::getName).toList();
        for (Method method : type.getDeclaredMethods()) {
            String name = method.getName();
            if (method.getParameterCount() == 0 && !name.contains("$") && !names.contains(name + "$descriptor")) {
                checks.add(new Check(name, ((Number) method.invoke(null)).longValue()));
            }
        }
    }

    /** The top-level classes of this package that come from the main sources: every one of them is generated. */
    private static List<Class<?>> generatedClasses() throws Exception {
        URI location = rdma_h.class.getResource("rdma_h.class").toURI();
        List<Class<?>> classes = new ArrayList<>();
        try (Stream<Path> files = Files.list(Path.of(location).getParent())) {
            for (Path file : files.sorted().toList()) {
                String name = file.getFileName().toString();
                if (name.endsWith(".class") && !name.contains("$") && !name.equals("package-info.class")) {
                    classes.add(Class.forName(rdma_h.class.getPackageName() + "." + name.replace(".class", ""),
                            false, rdma_h.class.getClassLoader()));
                }
            }
        }
        return classes;
    }

    private static boolean isHeaderClass(Class<?> type) {
        return common_h.class.isAssignableFrom(type);
    }

    private static boolean hasLayout(Class<?> type) {
        return Arrays.stream(type.getDeclaredMethods()).anyMatch(method -> method.getName().equals("layout"));
    }

    private static GroupLayout layoutOf(Class<?> type) throws Exception {
        return (GroupLayout) type.getDeclaredMethod("layout").invoke(null);
    }

    /** Whether the struct has no tag or the member no name, which jextract then makes up. */
    private static boolean isAnonymous(MemoryLayout layout) {
        return layout.name().orElse("").startsWith("$anon$");
    }

    /** The C name of a generated class: by its tag, or by a typedef if the layout has none. */
    private static String typeInC(Class<?> type) throws Exception {
        GroupLayout layout = layoutOf(type);
        if (isAnonymous(layout)) {
            return type.getSimpleName();
        }
        return (layout instanceof UnionLayout ? "union " : "struct ") + type.getSimpleName();
    }

    private static long countDistinct(List<Check> checks, String operator) {
        return checks.stream().map(Check::expression).filter(text -> text.startsWith(operator)).distinct().count();
    }

    private static void assertAtLeast(int expected, long actual, String what) {
        assertTrue(actual >= expected, () -> "only " + actual + " " + what + " found, expected " + expected);
    }

    /** Compiles one table of all expressions, and reports all values that differ at once. */
    private void assertCompilerAgrees(List<Check> checks) throws Exception {
        assertAgrees(checks, compiler("cc").orElseThrow(() -> new TestAbortedException("no C compiler or headers")));
        Optional<Compiler> other = compiler("aarch64-linux-gnu-gcc");
        if (other.isPresent()) {
            assertAgrees(checks, other.get());
        }
    }

    private void assertAgrees(List<Check> all, Compiler compiler) throws Exception {
        List<Check> checks = all.stream().filter(check -> compiler.knows(check.expression())).toList();
        List<Long> values = compile(checks, compiler);
        List<String> differences = new ArrayList<>();
        for (int i = 0; i < checks.size(); i++) {
            Check check = checks.get(i);
            long difference = values.get(i) - check.value();
            if (difference != 0 && !compiler.isKnown(check.expression(), difference)) {
                differences.add(check.expression() + " is " + values.get(i) + ", generated " + check.value());
            }
        }
        assertTrue(differences.isEmpty(), () -> compiler + ":\n" + String.join("\n", differences));
        System.out.println("StructLayoutTest: " + compiler + " agrees in " + checks.size() + " values");
    }

    /** The values of the expressions, read from the object file: it may be one for another processor. */
    private List<Long> compile(List<Check> checks, Compiler compiler) throws Exception {
        String mark = "the table of values begins here";
        Path source = Files.writeString(directory.resolve("probe.c"), """
                #include <stddef.h>
                #include "rdma.h"
                const struct { char mark[32]; long long values[%d]; } table = {"%s", {
                %s
                }};
                """.formatted(checks.size(), mark, checks.stream()
                .map(check -> "    (long long) (" + check.expression() + "),").collect(Collectors.joining("\n"))));
        Path object = directory.resolve("probe.o");
        Answer compiled = run(compiler.command, "-c", "-I", HEADERS.toAbsolutePath().toString(), "-o",
                object.toString(), source.toString());
        assertEquals(0, compiled.exitCode(), compiled.output());
        byte[] bytes = Files.readAllBytes(object);
        int begin = new String(bytes, StandardCharsets.ISO_8859_1).indexOf(mark);
        assertTrue(begin >= 0, "the object file has no table");
        ByteBuffer table = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).position(begin + 32);
        return checks.stream().map(check -> table.getLong()).toList();
    }

    /** A compiler that is there and finds the headers; else empty, and the reason is printed. */
    private Optional<Compiler> compiler(String command) throws Exception {
        Path source = Files.writeString(directory.resolve("headers.c"), """
                #include <infiniband/verbs.h>
                #include <rdma/rdma_cma.h>
                """);
        String reason;
        try {
            Answer preprocessed = run(command, "-E", "-o", directory.resolve("headers.i").toString(),
                    source.toString());
            if (preprocessed.exitCode() == 0) {
                return Optional.of(new Compiler(command, run(command, "-dumpmachine").output().strip()));
            }
            reason = "no headers, install libibverbs-dev and librdmacm-dev: " + preprocessed.output();
        } catch (IOException e) {
            reason = "no such compiler: " + e.getMessage();
        }
        System.out.println("StructLayoutTest skips " + command + ": " + reason);
        return Optional.empty();
    }

    /** Runs a command to its end; {@code IOException} if there is no such command. */
    private Answer run(String... command) throws IOException, InterruptedException {
        Path output = directory.resolve("output");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
        try {
            if (!process.waitFor(COMMAND_TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                fail("no end of " + String.join(" ", command) + " within " + COMMAND_TIMEOUT_SECONDS + " s");
            }
        } finally {
            process.destroyForcibly();
        }
        return new Answer(process.exitValue(), Files.readString(output));
    }
}
