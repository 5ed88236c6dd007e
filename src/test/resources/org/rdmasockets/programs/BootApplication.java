package demo;

import java.io.IOException;
import java.net.Socket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import org.rdmasockets.RdmaSocketOptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.servlet.context.ServletWebServerInitializedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;

/** A web application with blocking clients of Redis and of a database. */
@SpringBootApplication
@RestController
public class BootApplication {
    private static final Logger LOG = LoggerFactory.getLogger(BootApplication.class);
    @Value("${redis.host}")
    private String redisHost;
    @Value("${redis.port}")
    private int redisPort;
    @Value("${h2.url}")
    private String database;

    public static void main(String[] args) {
        SpringApplication.run(BootApplication.class, args);
    }

    @EventListener
    public void started(ServletWebServerInitializedEvent event) throws IOException {
        System.out.println("> transport " + transport());
        System.out.println("> port " + event.getWebServer().getPort());
    }

    /** Asks a plain socket by an option of the library that this jar has nested. */
    private String transport() throws IOException {
        try (Socket socket = new Socket(redisHost, redisPort)) {
            return socket.supportedOptions().contains(RdmaSocketOptions.TRANSPORT)
                    ? socket.getOption(RdmaSocketOptions.TRANSPORT).name() : "plain";
        }
    }

    @GetMapping("/work")
    public String work(@RequestParam int rounds) throws Exception {
        LOG.info("works for {} rounds", rounds);
        StringBuilder text = new StringBuilder();
        try (JedisPool pool = new JedisPool(redisHost, redisPort);
                Connection connection = DriverManager.getConnection(database, "sa", "x");
                Statement statement = connection.createStatement()) {
            statement.execute("create table if not exists hits (id int primary key, name varchar)");
            for (int i = 0; i < rounds; i++) {
                try (Jedis redis = pool.getResource()) {
                    redis.set("key" + i, "value".repeat(i));
                    long count = redis.incr("hits");
                    statement.execute("merge into hits values (" + i + ", '" + redis.get("key" + i) + "')");
                    text.append(count).append(' ');
                }
            }
            try (ResultSet all = statement.executeQuery("select count(*), sum(length(name)) from hits")) {
                all.next();
                return text + "rows " + all.getInt(1) + " letters " + all.getLong(2);
            }
        }
    }
}
