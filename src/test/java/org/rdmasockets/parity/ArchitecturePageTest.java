package org.rdmasockets.parity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Holds docs/architecture.md to the code: the table names each package, and the counts are those of the guard. */
class ArchitecturePageTest {
    private static final Path PAGE = Path.of("docs", "architecture.md");
    private static final Path SOURCES = Path.of("src", "main", "java", "org", "rdmasockets");
    private static final Path GUARD = Path.of("src", "test", "java", "org", "rdmasockets", "guard",
            "PathGuardTest.java");
    /** Packages that the row of the one above them explains. */
    private static final Set<String> INSIDE = Set.of("internal.ibverbs.generated", "internal.sharedmemory.link");

    @Test
    void theTableAndTheDrawingHaveEachPackage() throws IOException {
        Set<String> packages = packages();
        assertEquals(packages, names(PAGE, "^\\| `([a-z.]+)` \\|"));
        assertEquals(packages, names(PAGE.resolveSibling("architecture.svg"), ">([a-z.]+)</text>"));
    }

    private static Set<String> names(Path page, String pattern) throws IOException {
        Set<String> names = new TreeSet<>();
        Matcher name = Pattern.compile(pattern, Pattern.MULTILINE).matcher(Files.readString(page));
        while (name.find()) {
            names.add(name.group(1));
        }
        return names;
    }

    private static Set<String> packages() throws IOException {
        Set<String> packages = new TreeSet<>();
        try (Stream<Path> files = Files.walk(SOURCES)) {
            List<Path> infos = files.filter(f -> f.endsWith("package-info.java")).toList();
            for (Path info : infos) {
                String name = SOURCES.relativize(info.getParent()).toString().replace('/', '.');
                packages.add(name.isEmpty() ? "org.rdmasockets" : name);
            }
        }
        packages.removeAll(INSIDE);
        return packages;
    }

    @Test
    void theCountsAreThoseOfTheGuard() throws IOException {
        String guard = Files.readString(GUARD);
        String page = Files.readString(PAGE).replace('\n', ' ');
        for (String step : List.of("READ", "WRITE")) {
            String words = "at most " + constant(guard, step + "_METHODS") + ", of " + constant(guard, step
                    + "_CLASSES") + " classes";
            assertTrue(page.contains(words), () -> PAGE + " does not say of a " + step + ": " + words);
        }
    }

    private static String constant(String source, String name) {
        Matcher found = Pattern.compile(name + " = (\\d+);").matcher(source);
        assertTrue(found.find(), () -> "no " + name + " in " + GUARD);
        return found.group(1);
    }
}
