// Runs a query through a JDBC driver over RDMA. Usage: Query HOST PORT DATABASE USER SQL [PASSWORD]

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.rdmasockets.RdmaSocketFactory;

/** PostgreSQL itself speaks TCP: HOST and PORT are those of examples/Gateway in front of it. */
void main(String[] args) {
    if (args.length < 5) {
        System.err.println("usage: Query HOST PORT DATABASE USER SQL [PASSWORD]");
        System.exit(2);
    }
    Properties properties = new Properties();
    properties.setProperty("user", args[3]);
    properties.setProperty("password", args.length > 5 ? args[5] : "");
    properties.setProperty("socketFactory", RdmaSocketFactory.class.getName());
    properties.setProperty("connectTimeout", "60"); // seconds; the driver's 10 are short for a machine that is emulated
    String url = "jdbc:postgresql://" + args[0] + ":" + args[1] + "/" + args[2];
    try (Connection database = DriverManager.getConnection(url, properties);
            Statement statement = database.createStatement();
            ResultSet rows = statement.executeQuery(args[4])) {
        int columns = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            StringJoiner row = new StringJoiner(" | ");
            for (int column = 1; column <= columns; column++) {
                row.add(rows.getString(column));
            }
            IO.println(row);
        }
    } catch (SQLException e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            System.err.println(cause.getMessage()); // the driver's own words come first, and say little
        }
        System.exit(1);
    }
}
