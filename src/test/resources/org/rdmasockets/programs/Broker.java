import jakarta.jms.BytesMessage;
import jakarta.jms.Connection;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.util.zip.CRC32;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.broker.BrokerService;
import org.apache.activemq.broker.TransportConnector;

/** A message broker at an address, or with a port a client of it. */
class Broker {
    private static final int MESSAGES = 300;
    private static final long LIMIT_BYTES = 32 << 20;

    public static void main(String[] args) throws Exception {
        if (args.length == 1) {
            serve(args[0]);
        } else {
            exchange("tcp://" + args[0] + ":" + args[1] + "?wireFormat.maxInactivityDurationInitalDelay=60000");
        }
        System.exit(0);
    }

    private static void serve(String host) throws Exception {
        BrokerService broker = new BrokerService();
        broker.setPersistent(false);
        broker.setUseJmx(false);
        // Otherwise it warns where there is less than its defaults.
        broker.getSystemUsage().getMemoryUsage().setLimit(LIMIT_BYTES);
        broker.getSystemUsage().getTempUsage().setLimit(LIMIT_BYTES);
        TransportConnector connector = broker.addConnector("tcp://" + host + ":0");
        broker.start();
        broker.waitUntilStarted();
        System.out.println("> port " + connector.getConnectUri().getPort());
        System.in.read();
    }

    private static void exchange(String url) throws Exception {
        try (Connection connection = new ActiveMQConnectionFactory(url).createConnection()) {
            connection.start();
            Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
            Queue queue = session.createQueue("work");
            MessageConsumer consumer = session.createConsumer(queue);
            MessageProducer producer = session.createProducer(queue);
            for (int i = 0; i < MESSAGES; i++) {
                BytesMessage message = session.createBytesMessage();
                message.writeBytes(new byte[i * 100]);
                message.setIntProperty("number", i);
                producer.send(message);
            }
            CRC32 sum = new CRC32();
            for (int i = 0; i < MESSAGES; i++) {
                BytesMessage message = (BytesMessage) consumer.receive(60_000);
                sum.update(message.getIntProperty("number"));
                sum.update((int) message.getBodyLength());
            }
            producer.send(session.createTextMessage("the last"));
            System.out.println("> received " + MESSAGES + ", sum " + Long.toHexString(sum.getValue()) + ", "
                    + ((TextMessage) consumer.receive(60_000)).getText());
        }
    }
}
