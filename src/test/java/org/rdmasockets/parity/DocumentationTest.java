package org.rdmasockets.parity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The files, classes, members, properties and links that README, docs and comments name exist. */
class DocumentationTest {
    private static final Path ROOT = Path.of("");
    private static final Path SETTINGS = Path.of("docs/settings.md");
    private static final Set<String> GENERATED = Set.of("docs/benchmarks/results.md",
            "docs/benchmarks/rxe0/results.md", "docs/parity.md");
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    private static final Pattern FENCE = Pattern.compile("(?ms)^```.*?^```$");
    /** A file of this project, by its path from the root. */
    private static final Pattern PROJECT_FILE = Pattern.compile(
            "(?<![\\w/.-])(?:src|docs|examples|module-info|\\.ci)/(?!NAME)[\\w./-]*\\w");
    /** A class of this project, or one of its members, in code quotes. */
    private static final Pattern CODE = Pattern.compile(
            "(?:`|\\{@code )([A-Z]\\w*(?:\\.[A-Za-z]\\w*)?)(?:\\([^`}]*\\))?[`}]");
    private static final Pattern JAVA_COMMENT = Pattern.compile("(?s)/\\*\\*.*?\\*/|(?<!:)//[^\n]*");
    private static final Pattern XML_COMMENT = Pattern.compile("(?s)<!--.*?-->");
    private static final Pattern SCRIPT_COMMENT = Pattern.compile("(?m)^\\s*# .*$");
    private static final Pattern PROPERTY_READ = Pattern.compile(
            "(?:Property\\.(?:flag|choice|number)|\\bmillis|new Budget|\\b[A-Z]+(?:_[A-Z]+)+)\\(\\s*\"([\\w.]+)\""
                    + "|(?:Property\\.PREFIX|TRANSPORT_PROPERTY|SETTINGS_PREFIX) \\+ \"([\\w.]+)\";");
    private static final Pattern PROPERTY_SETTING = Pattern.compile("-Dorg\\.rdmasockets\\.([\\w.]*\\w)");
    private static final Pattern TABLE_ROW = Pattern.compile("(?m)^\\| (`[\\w.]+`(?:, `[\\w.]+`)*) \\|.*$");
    /** Packages of classes that comments name without their package. */
    private static final List<String> FOREIGN = List.of("java.lang.", "java.lang.foreign.", "java.lang.invoke.",
            "java.lang.ref.", "java.lang.reflect.", "java.io.", "java.net.", "java.nio.", "java.nio.channels.",
            "java.nio.file.", "java.util.", "java.util.concurrent.", "java.util.concurrent.atomic.",
            "java.util.concurrent.locks.", "javax.net.", "javax.net.ssl.", "org.slf4j.");
    private static final Pattern CLASS_NAME = Pattern.compile("[A-Z][a-z0-9]\\w*[a-z]\\w*");
    private static final Pattern OUR_MEMBER = Pattern.compile("[A-Z][a-z]\\w*\\.[a-z]\\w*");

    private final ClassIndex main = new ClassIndex(Path.of("target/classes"));
    private final ClassIndex tests = new ClassIndex(Path.of("target/test-classes"));
    private final List<String> problems = new ArrayList<>();

    DocumentationTest() throws Exception {
    }

    @Test
    void linksLeadToFilesAndHeadings() throws IOException {
        int links = 0;
        for (Path page : pages()) {
            String text = FENCE.matcher(Files.readString(page)).replaceAll("");
            for (MatchResult link : LINK.matcher(text).results().toList()) {
                links++;
                checkLink(page, link.group(1));
            }
        }
        report(links, 50);
    }

    @Test
    void filesThatAreNamedExist() throws IOException {
        int files = 0;
        for (Path source : sources()) {
            for (MatchResult name : PROJECT_FILE.matcher(words(source)).results().toList()) {
                files++;
                if (!Files.exists(ROOT.resolve(name.group()))) {
                    problems.add(source + " names " + name.group());
                }
            }
        }
        report(files, 50);
    }

    @Test
    void classesAndMembersThatAreNamedExist() throws IOException {
        int names = 0;
        for (Path source : sources()) {
            for (MatchResult code : CODE.matcher(words(source)).results().toList()) {
                String name = code.group(1);
                if (CLASS_NAME.matcher(name).matches() || OUR_MEMBER.matcher(name).matches()) {
                    names++;
                    checkName(source, name);
                }
            }
        }
        report(names, 250);
    }

    @Test
    void settingsAreThoseThatTheCodeReads() throws IOException {
        Set<String> read = new TreeSet<>();
        for (Path source : filesUnder("src/main/java", ".java")) {
            PROPERTY_READ.matcher(Files.readString(source)).results()
                    .map(found -> found.group(1) != null ? found.group(1) : found.group(2))
                    .forEach(name -> read.add(name.startsWith(".") ? "transport" + name : name));
        }
        Set<String> told = TABLE_ROW.matcher(Files.readString(SETTINGS)).results()
                .flatMap(row -> Pattern.compile("`([\\w.]+)`").matcher(row.group(1)).results())
                .map(name -> name.group(1)).collect(Collectors.toCollection(TreeSet::new));
        assertEquals(read, told, "what the code reads, and what docs/settings.md tells");
        for (Path page : pages()) {
            PROPERTY_SETTING.matcher(Files.readString(page)).results().map(found -> found.group(1))
                    .filter(name -> !told.contains(name) && !name.startsWith("test."))
                    .forEach(name -> problems.add(page + " sets " + name));
        }
        report(read.size(), 15);
    }

    /** Whether the checks find anything. */
    @Test
    void whatDoesNotExistIsFound() {
        Path page = Path.of("README.md");
        checkLink(page, "docs/nothing.md");
        checkLink(page, "docs/transports.md#nothing");
        checkName(page, "RdmaSockte");
        checkName(page, "RdmaEndpoint.bulider");
        assertEquals(4, problems.size(), () -> String.join("\n", problems));
        checkLink(page, "docs/transports.md#rules");
        checkName(page, "RdmaEndpoint.builder");
        checkName(page, "Socket");
        assertEquals(4, problems.size(), () -> String.join("\n", problems));
    }

    private void report(int found, int least) {
        assertTrue(problems.isEmpty(), () -> String.join("\n", problems));
        assertTrue(found >= least, () -> "only " + found + " were found: does the pattern still match?");
    }

    private void checkLink(Path page, String link) {
        if (link.contains("://")) {
            return;
        }
        String[] parts = link.split("#", 2);
        Path target = parts[0].isEmpty() ? page
                : page.resolveSibling(parts[0]).normalize();
        if (!Files.exists(target)) {
            problems.add(page + " links to " + link);
        } else if (parts.length == 2 && !headings(target).contains(parts[1])) {
            problems.add(page + " links to a heading that is not there: " + link);
        }
    }

    /** As GitHub names them. */
    private static Set<String> headings(Path page) {
        try (Stream<String> lines = Files.lines(page)) {
            return lines.filter(line -> line.startsWith("#"))
                    .map(line -> line.replaceFirst("#+ ", "").toLowerCase(Locale.ROOT).replaceAll("[^\\w -]", "")
                            .replace(' ', '-')).collect(Collectors.toSet());
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private void checkName(Path source, String name) {
        int dot = name.indexOf('.');
        String type = dot < 0 ? name : name.substring(0, dot);
        boolean ours = main.find(type).isPresent() || main.has(name) || tests.has(name)
                || Files.exists(Path.of("examples", type + ".java"));
        boolean complete = dot < 0 || !main.find(type).isPresent() || main.has(name);
        if (!complete || !ours && !main.knows(type) && !tests.knows(type) && !isForeign(type)) {
            problems.add(source + " names " + name);
        }
    }

    private static boolean isForeign(String type) {
        return FOREIGN.stream().anyMatch(home -> {
            try {
                Class.forName(home + type, false, DocumentationTest.class.getClassLoader());
                return true;
            } catch (ClassNotFoundException | LinkageError e) {
                return false;
            }
        });
    }

    private static List<Path> pages() throws IOException {
        try (Stream<Path> top = Files.list(ROOT)) {
            return Stream.concat(top.filter(file -> file.toString().endsWith(".md")),
                    filesUnder("docs", ".md").stream()).toList();
        }
    }

    private static List<Path> sources() throws IOException {
        List<Path> all = new ArrayList<>(pages());
        all.removeIf(page -> GENERATED.contains(page.toString()));
        all.addAll(filesUnder("src/main/java", ".java"));
        all.removeIf(file -> file.toString().contains("/generated/"));
        all.add(Path.of("pom.xml"));
        for (String script : List.of("examples/run", ".ci/run", "src/test/sharedmemory", "src/test/guest/test",
                "src/test/guest/run", "src/jmh/run")) {
            all.add(Path.of(script));
        }
        return all;
    }

    private static List<Path> filesUnder(String folder, String ending) throws IOException {
        try (Stream<Path> files = Files.walk(Path.of(folder))) {
            return files.filter(file -> file.toString().endsWith(ending)).sorted().toList();
        }
    }

    /** The text of a file for people: all of a page, the comments of anything else. */
    private static String words(Path source) throws IOException {
        String text = Files.readString(source);
        String name = source.toString();
        if (name.endsWith(".md")) {
            return text;
        }
        Pattern comment = name.endsWith(".java") ? JAVA_COMMENT : name.endsWith(".xml") ? XML_COMMENT : SCRIPT_COMMENT;
        Matcher comments = comment.matcher(text);
        return comments.results().map(MatchResult::group).collect(Collectors.joining("\n"));
    }
}
