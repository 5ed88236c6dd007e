package org.rdmasockets.parity;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * The rows of a page of tables in Markdown. The first cell of a row says what, the second where it is, the third which
 * tests show it; both name what exists as code. Under a heading "Left out" there is a list of what is not there, each
 * item with its reason behind a colon.
 */
final class ParityTables {
    private static final Pattern CODE = Pattern.compile("`([^`]+)`");
    private static final int CELLS = 3;

    private final ClassIndex library;
    private final ClassIndex tests;
    private final Path root;
    private final List<String> problems = new ArrayList<>();
    private int rows;
    private int leftOut;

    /**
     * Nothing is read yet.
     *
     * @param root of the project
     */
    ParityTables(Path root) throws Exception {
        this.root = root;
        library = new ClassIndex(root.resolve("target/classes"));
        tests = new ClassIndex(root.resolve("target/test-classes"));
    }

    /**
     * Reads a page.
     *
     * @param lines of the page
     */
    void read(List<String> lines) {
        String heading = "";
        boolean body = false;
        for (String line : lines) {
            if (line.startsWith("#")) {
                heading = line.replaceFirst("#+ *", "");
            }
            if (!line.startsWith("|")) {
                body = false;
            } else if (line.startsWith("|--")) {
                body = true;
            } else if (body) {
                row(line);
            }
            if (heading.equals("Left out") && line.startsWith("- ")) {
                item(line);
            }
        }
    }

    private void row(String line) {
        rows++;
        String[] cells = line.substring(1).split("\\|");
        if (cells.length < CELLS) {
            problems.add("a row of " + cells.length + " cells: " + line);
            return;
        }
        List<String> where = code(cells[1]);
        List<String> shownBy = code(cells[2]);
        if (where.isEmpty()) {
            problems.add("a row that does not say where: " + line);
        }
        if (shownBy.isEmpty()) {
            problems.add("a row without a test: " + line);
        }
        for (String name : where) {
            if (name.contains("/") ? !Files.exists(root.resolve(name)) : !library.has(name)) {
                problems.add("nothing, or several, named " + name + ": " + line);
            }
        }
        for (String name : shownBy) {
            tests.whatIsWrongWithTest(name).ifPresent(problem -> problems.add(problem + ": " + line));
        }
    }

    private static List<String> code(String cell) {
        return CODE.matcher(cell).results().map((MatchResult result) -> result.group(1)).toList();
    }

    private void item(String line) {
        leftOut++;
        if (!line.contains(": ")) {
            problems.add("left out without a reason: " + line);
        }
    }

    /** The problems, one line each. */
    List<String> problems() {
        return problems;
    }

    /** How many rows were read. */
    int rows() {
        return rows;
    }

    /** How many things are said to be left out. */
    int leftOut() {
        return leftOut;
    }
}
