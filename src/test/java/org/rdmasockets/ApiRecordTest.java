package org.rdmasockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The API is the one on record, so that no change of it goes unseen. */
class ApiRecordTest {
    private static final Path CLASSES = Path.of("target", "classes");
    private static final Path RECORD = Path.of("docs", "api.txt");
    /** The new record, if a change is meant. */
    private static final Path FOUND = Path.of("target", "api.txt");

    @Test
    void exportedPackagesAreAsRecorded() throws Exception {
        Set<String> found = new TreeSet<>();
        for (Class<?> type : types()) {
            members(type).forEach(line -> found.add(type.getName() + ": " + line));
        }
        Files.write(FOUND, found);
        Set<String> recorded = new TreeSet<>(Files.readAllLines(RECORD));
        List<String> changes = new ArrayList<>();
        recorded.stream().filter(line -> !found.contains(line)).forEach(line -> changes.add("- " + line));
        found.stream().filter(line -> !recorded.contains(line)).forEach(line -> changes.add("+ " + line));
        assertEquals(List.of(), changes, () -> "The API differs from its record. If it is meant to: tell users in"
                + " CHANGELOG.md, and copy " + FOUND + " to " + RECORD + ".\n" + String.join("\n", changes) + "\n");
    }

    @Test
    void typesTellSinceWhichVersionTheyAreThere() throws Exception {
        List<String> missing = new ArrayList<>();
        for (Class<?> type : types()) {
            String file = type.getName().replaceAll("\\$.*", "").replace('.', '/') + ".java";
            String source = Files.readString(Path.of("src", "main", "java").resolve(file));
            Matcher declaration = Pattern.compile("(?m)^[^*/\n]*\\b(class|interface|enum|record) "
                    + type.getSimpleName() + "\\b").matcher(source);
            assertTrue(declaration.find(), type.getName());
            String before = source.substring(0, declaration.start());
            if (!before.substring(before.lastIndexOf("/**")).contains("* @since ")) {
                missing.add(type.getName());
            }
        }
        assertEquals(List.of(), missing, "types of the API without @since");
    }

    /** The types that a user can name. */
    private static List<Class<?>> types() throws IOException, ClassNotFoundException {
        List<Class<?>> types = new ArrayList<>();
        for (ModuleDescriptor.Exports exports
                : ModuleFinder.of(CLASSES).find("org.rdmasockets").orElseThrow().descriptor().exports()) {
            try (Stream<Path> files = Files.list(CLASSES.resolve(exports.source().replace('.', '/')))) {
                for (Path file : (Iterable<Path>) files.filter(each -> each.toString().endsWith(".class"))::iterator) {
                    Class<?> type = Class.forName(exports.source() + "."
                            + file.getFileName().toString().replace(".class", ""), false,
                            ApiRecordTest.class.getClassLoader());
                    if (isVisible(type)) {
                        types.add(type);
                    }
                }
            }
        }
        return types;
    }

    private static boolean isVisible(Class<?> type) {
        return type == null || (type.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0
                && isVisible(type.getDeclaringClass());
    }

    /** A line for the type and for each member that a user can name. */
    private static List<String> members(Class<?> type) {
        StringWriter said = new StringWriter();
        PrintWriter out = new PrintWriter(said);
        assertEquals(0, ToolProvider.findFirst("javap").orElseThrow().run(out, out, "-protected", "-constants",
                "--class-path", CLASSES.toString(), type.getName()), said::toString);
        List<String> lines = new ArrayList<>(said.toString().lines().filter(line -> !line.startsWith("Compiled from"))
                .map(line -> line.strip().replaceAll(" *[{};]+$", "")).filter(line -> !line.isEmpty()).toList());
        if (type.isSealed()) {
            lines.add("permits " + Arrays.toString(type.getPermittedSubclasses()));
        }
        return lines;
    }
}
