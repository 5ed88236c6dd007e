package org.rdmasockets.programs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.rdmasockets.interop.Program;

/** {@code examples/Query}: a JDBC driver over RDMA, {@code examples/Gateway} and a real PostgreSQL behind it. */
@Execution(ExecutionMode.CONCURRENT)
class QueryTest {
    private static final String SQL = "select x, md5(x::text), repeat('long ', x % 200) from "
            + "generate_series(1, 3000) x";
    private static final int ROWS = 3000;

    /** Where driver and gateway meet. */
    Place place() {
        return Place.here().orSkip();
    }

    @Test
    void theAnswerIsThatOfTcp() throws Exception {
        Place place = place();
        try (PostgreSql database = PostgreSql.startOrSkip();
                Program gateway = Program.java(place.options(), "Gateway", "0", "127.0.0.1",
                        Integer.toString(database.port()))) {
            String port = gateway.awaitLine("port ").replaceFirst(" .*", "");
            try (Program query = Program.java(place.options(), "Query", place.host(), port, "postgres",
                    PostgreSql.USER, SQL)) {
                String output = query.awaitSuccess();
                assertTrue(output.contains("connected over " + place.transport().name()), output);
                assertEquals(overTcp(database.port()),
                        output.lines().filter(line -> !line.contains(" INFO ")).toList());
            }
        }
    }

    /** The output of the driver without this project. */
    private static List<String> overTcp(int port) throws Exception {
        List<String> lines = new ArrayList<>();
        try (Connection database = DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + port + "/postgres",
                PostgreSql.USER, ""); Statement statement = database.createStatement();
                ResultSet rows = statement.executeQuery(SQL)) {
            while (rows.next()) {
                lines.add(rows.getString(1) + " | " + rows.getString(2) + " | " + rows.getString(3));
            }
        }
        assertEquals(ROWS, lines.size());
        return lines;
    }
}
