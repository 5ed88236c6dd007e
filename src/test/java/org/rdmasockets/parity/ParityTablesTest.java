package org.rdmasockets.parity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The claims of {@code docs/parity.md} name code that exists and tests that run. */
class ParityTablesTest {
    private static final Path ROOT = Path.of("");
    private static final String GOOD = "| what | `RdmaEndpoint.builder`, `docs/parity.md` | "
            + "`EndpointConnectContract#hostNamesAreResolved` |";

    private final ParityTables tables;

    ParityTablesTest() throws Exception {
        tables = new ParityTables(ROOT);
    }

    @Test
    void everyRowNamesWhatExistsAndTestsThatRun() throws Exception {
        tables.read(Files.readAllLines(ROOT.resolve("docs/parity.md")));
        assertTrue(tables.problems().isEmpty(), () -> String.join("\n", tables.problems()));
        assertTrue(tables.rows() > 150 && tables.leftOut() > 10, () -> tables.rows() + " rows, " + tables.leftOut()
                + " left out");
    }

    /** Each of these rows has one thing wrong. */
    @Test
    void whatDoesNotExistIsFound() {
        List<String> wrong = List.of("| what | where | `EndpointConnectContract#hostNamesAreResolved` |",
                "| what | `RdmaEndpoint.builder` | by looking at it |", "| what | `RdmaEndpoint.builder` |",
                GOOD.replace("builder", "bulider"), GOOD.replace("RdmaEndpoint", "RdmaEndpiont"),
                GOOD.replace("docs/parity.md", "docs/nothing.md"), GOOD.replace("Resolved", "Solved"),
                GOOD.replace("#", "."),
                GOOD.replace("EndpointConnectContract#", "EndpointEndContract#"),
                GOOD.replace("hostNamesAreResolved", "fixture"),
                GOOD.replace("EndpointConnectContract#hostNamesAreResolved", "ParityTablesTest.Idle#neverRuns"));
        tables.read(List.of("| a | b | c |", "|---|---|---|", GOOD));
        assertEquals(List.of(), tables.problems());
        for (String row : wrong) {
            int before = tables.problems().size();
            tables.read(List.of("| a | b | c |", "|---|---|---|", row));
            assertEquals(before + 1, tables.problems().size(), row);
        }
        tables.read(List.of("### Left out", "- something"));
        assertEquals(wrong.size() + 1, tables.problems().size());
    }

    /** No class extends it, and it is not nested in the sense of the engine. */
    abstract static class Idle {
        @Test
        void neverRuns() {
        }
    }
}
