package org.rdmasockets.internal.ibverbs.generated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.SequenceLayout;
import java.lang.foreign.UnionLayout;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compares the generated bindings with what the C compiler makes of the same headers. Reflection finds the
 * bindings: nothing is listed here, so a struct, field or constant added to them is covered at once.
 *
 * <p>Needs {@code cc} and the headers of libibverbs and librdmacm; without them the tests are skipped and say why.
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

    /** Compiles one program that prints every expression, and reports all values that differ at once. */
    private void assertCompilerAgrees(List<Check> checks) throws Exception {
        skipWithoutCompilerOrHeaders();
        Path source = Files.writeString(directory.resolve("probe.c"), """
                #include <stddef.h>
                #include <stdio.h>
                #include "rdma.h"
                static const long long values[] = {
                %s
                };
                int main(void) {
                    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
                        printf("%%lld\\n", values[i]);
                    }
                    return 0;
                }
                """.formatted(checks.stream().map(check -> "    (long long) (" + check.expression() + "),")
                .collect(Collectors.joining("\n"))));
        Path program = directory.resolve("probe");
        Answer compiled = run("cc", "-I", HEADERS.toAbsolutePath().toString(), "-o", program.toString(),
                source.toString());
        assertEquals(0, compiled.exitCode(), compiled.output());

        List<Long> values = run(program.toString()).output().lines().map(Long::valueOf).toList();
        assertEquals(checks.size(), values.size(), "values the program printed");
        List<String> differences = new ArrayList<>();
        for (int i = 0; i < checks.size(); i++) {
            Check check = checks.get(i);
            if (check.value() != values.get(i)) {
                differences.add(check.expression() + " is " + values.get(i) + ", generated " + check.value());
            }
        }
        assertTrue(differences.isEmpty(), () -> String.join("\n", differences));
    }

    /** Skips the test, with the reason, only if there is no compiler or it does not find the headers. */
    private void skipWithoutCompilerOrHeaders() throws Exception {
        Path source = Files.writeString(directory.resolve("headers.c"), """
                #include <infiniband/verbs.h>
                #include <rdma/rdma_cma.h>
                """);
        String reason = null;
        try {
            Answer preprocessed = run("cc", "-E", "-o", directory.resolve("headers.i").toString(), source.toString());
            if (preprocessed.exitCode() != 0) {
                reason = "no headers, install libibverbs-dev and librdmacm-dev: " + preprocessed.output();
            }
        } catch (IOException e) {
            reason = "no C compiler: " + e.getMessage();
        }
        if (reason != null) {
            System.out.println("StructLayoutTest skipped: " + reason);
            abort(reason);
        }
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
