// A member of a JGroups cluster over RDMA sockets. Usage: Cluster NAME HOST PORT [MEMBER_PORT...]

import java.util.stream.Collectors;
import org.jgroups.Address;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.ObjectMessage;
import org.jgroups.Receiver;
import org.jgroups.View;
import org.jgroups.protocols.FD_ALL3;
import org.jgroups.protocols.FD_SOCK2;
import org.jgroups.protocols.FRAG4;
import org.jgroups.protocols.MERGE3;
import org.jgroups.protocols.TCP;
import org.jgroups.protocols.TCPPING;
import org.jgroups.protocols.UFC;
import org.jgroups.protocols.UNICAST3;
import org.jgroups.protocols.VERIFY_SUSPECT2;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.protocols.pbcast.NAKACK2;
import org.jgroups.protocols.pbcast.STABLE;
import org.jgroups.util.DefaultSocketFactory;
import org.rdmasockets.RdmaServerSocketFactory;
import org.rdmasockets.RdmaSocketFactory;

/** Tells all members whom it sees whenever that changes, and prints what it hears; leaves at the end of the input. */
void main(String[] args) throws Exception {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    if (args.length < 3) {
        System.err.println("usage: Cluster NAME HOST PORT [MEMBER_PORT...], its own port first");
        System.exit(2);
    }
    String name = args[0];
    InetAddress host = InetAddress.getByName(args[1]);
    List<InetSocketAddress> members = Arrays.stream(args).skip(2)
            .map(port -> new InetSocketAddress(host, Integer.parseInt(port))).toList();
    TCP tcp = new TCP();
    tcp.setBindAddress(host).setBindPort(members.getFirst().getPort()).useVirtualThreads(true);
    tcp.setSocketFactory(new DefaultSocketFactory(new RdmaSocketFactory(), new RdmaServerSocketFactory()));
    try (JChannel channel = new JChannel(tcp, new TCPPING().initialHosts(members).portRange(0), new MERGE3(),
            new FD_SOCK2(), new FD_ALL3(), new VERIFY_SUSPECT2(), new NAKACK2(), new UNICAST3(), new STABLE(),
            new GMS(), new UFC(), new FRAG4())) {
        channel.name(name).setReceiver(new Receiver() {
            private View last;

            @Override
            public void viewAccepted(View view) {
                List<Address> gone = last == null ? List.of() : View.leftMembers(last, view);
                last = view;
                String text = "I see " + names(view.getMembers())
                        + (gone.isEmpty() ? "" : ", no longer " + names(gone));
                Thread.startVirtualThread(() -> say(channel, text)); // not in the thread that delivers
            }

            @Override
            public void receive(Message message) {
                IO.println(message.src() + " says: " + message.getObject());
            }
        });
        channel.connect("rdma");
        while (IO.readln() != null) {
            // until the end of the input
        }
    }
}

String names(List<Address> members) {
    return members.stream().map(Object::toString).sorted().collect(Collectors.joining(", "));
}

void say(JChannel channel, String text) {
    try {
        channel.send(new ObjectMessage(null, text));
    } catch (Exception e) {
        System.err.println("nobody hears me: " + e);
    }
}
