package org.rdmasockets.contract;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmasockets.RdmaDatagramSocket;

/** Datagram sockets of both kinds are asked the same questions one after the other: the JDK's own set the standard. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
class DatagramAnswersTest {
    private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
    private static final SocketAddress GROUP = new InetSocketAddress(InetAddress.ofLiteral("230.9.8.6"), 0);
    private static final SocketAddress UNRESOLVED = InetSocketAddress.createUnresolved("nowhere.invalid", 1);
    private static final SocketAddress FOREIGN = new SocketAddress() {
        private static final long serialVersionUID = 1;
    };
    /** More than a datagram of IPv4 carries. */
    private static final int TOO_LONG = 65_508;

    private final DatagramSocket peer = new DatagramSocket(0, LOOPBACK);
    private final DatagramSocket other = new DatagramSocket(0, LOOPBACK);
    private final Map<String, Question> questions = new LinkedHashMap<>();

    private interface Question {
        Object ask(DatagramSocket socket) throws Exception;
    }

    private interface Order {
        void give(DatagramSocket socket) throws Exception;
    }

    private enum State { UNBOUND, BOUND, CONNECTED, CLOSED, CLOSED_UNBOUND }

    DatagramAnswersTest() throws Exception {
        askWhatItIs("");
        askOptions();
        askToBind();
        askToConnect();
        askToSendAndReceive();
        askToJoin();
        tell("close", DatagramSocket::close);
        tell("close again", DatagramSocket::close);
        askWhatItIs(" at the end");
    }

    @AfterEach
    void close() {
        peer.close();
        other.close();
    }

    private void ask(String what, Question question) {
        questions.put(what, question);
    }

    private void tell(String what, Order order) {
        questions.put(what, socket -> {
            order.give(socket);
            return "done";
        });
    }

    private void askWhatItIs(String when) {
        ask("isBound" + when, DatagramSocket::isBound);
        ask("isConnected" + when, DatagramSocket::isConnected);
        ask("isClosed" + when, DatagramSocket::isClosed);
        ask("getLocalPort" + when, socket -> Integer.signum(socket.getLocalPort()));
        ask("getLocalAddress" + when, DatagramSocket::getLocalAddress);
        ask("getLocalSocketAddress" + when, socket -> socket.getLocalSocketAddress() == null);
        ask("getInetAddress" + when, DatagramSocket::getInetAddress);
        ask("getPort" + when, DatagramSocket::getPort);
        ask("getRemoteSocketAddress" + when, DatagramSocket::getRemoteSocketAddress);
        ask("getChannel" + when, DatagramSocket::getChannel);
        ask("getSoTimeout" + when, DatagramSocket::getSoTimeout);
        ask("getReuseAddress" + when, DatagramSocket::getReuseAddress);
        ask("getBroadcast" + when, DatagramSocket::getBroadcast);
        ask("getTrafficClass" + when, DatagramSocket::getTrafficClass);
        ask("getSendBufferSize" + when, DatagramSocket::getSendBufferSize);
        ask("getReceiveBufferSize" + when, DatagramSocket::getReceiveBufferSize);
    }

    private void askOptions() {
        tell("setSoTimeout(-1)", socket -> socket.setSoTimeout(-1));
        tell("setSoTimeout(0)", socket -> socket.setSoTimeout(0));
        tell("setSendBufferSize(0)", socket -> socket.setSendBufferSize(0));
        tell("setReceiveBufferSize(-1)", socket -> socket.setReceiveBufferSize(-1));
        tell("setSendBufferSize", socket -> socket.setSendBufferSize(8192));
        tell("setReceiveBufferSize", socket -> socket.setReceiveBufferSize(8192));
        tell("setTrafficClass", socket -> socket.setTrafficClass(8));
        tell("setBroadcast", socket -> socket.setBroadcast(false));
        TreeSet<SocketOption<?>> sorted = new TreeSet<>(Comparator.comparing(SocketOption::name));
        sorted.addAll(peer.supportedOptions());
        for (SocketOption<?> option : sorted) {
            ask(option + " is there", socket -> socket.supportedOptions().contains(option));
            ask(option + " is kept", socket -> keep(socket, option));
            tell(option + " = null", socket -> socket.setOption(option, null));
        }
        tell("TCP_NODELAY = true", socket -> socket.setOption(StandardSocketOptions.TCP_NODELAY, true));
        ask("TCP_NODELAY", socket -> socket.getOption(StandardSocketOptions.TCP_NODELAY));
        ask("null", socket -> socket.getOption(null));
    }

    private static <T> T keep(DatagramSocket socket, SocketOption<T> option) throws IOException {
        socket.setOption(option, socket.getOption(option));
        return socket.getOption(option);
    }

    private void askToBind() {
        tell("bind to another kind of address", socket -> {
            if (!socket.isBound()) {
                socket.bind(FOREIGN);
            }
        });
        tell("bind to no host", socket -> socket.bind(UNRESOLVED));
        tell("bind to a port that is taken", socket -> socket.bind(peer.getLocalSocketAddress()));
        ask("isClosed after that", DatagramSocket::isClosed);
        tell("bind", socket -> socket.bind(null));
        tell("bind again", socket -> socket.bind(null));
        ask("isBound after that", DatagramSocket::isBound);
        ask("getLocalAddress after that", DatagramSocket::getLocalAddress);
    }

    private void askToConnect() {
        tell("connect to null", socket -> socket.connect(null));
        tell("connect to a null host", socket -> socket.connect(null, 1));
        tell("connect to another kind of address", socket -> socket.connect(FOREIGN));
        tell("connect to no host", socket -> socket.connect(UNRESOLVED));
        tell("connect to port 0", socket -> socket.connect(new InetSocketAddress(LOOPBACK, 0)));
        tell("connect to a host's port 0", socket -> socket.connect(LOOPBACK, 0));
        tell("connect to port 70000", socket -> socket.connect(LOOPBACK, 70_000));
        tell("connect", socket -> socket.connect(LOOPBACK, peer.getLocalPort()));
        askWhatItIs(" with a peer");
        tell("send to another one", socket -> socket.send(new DatagramPacket(new byte[1], 1, LOOPBACK, 1)));
        ask("send to none", socket -> {
            DatagramPacket packet = new DatagramPacket(new byte[1], 1);
            socket.send(packet);
            return packet.getSocketAddress().equals(peer.getLocalSocketAddress());
        });
        tell("disconnect", DatagramSocket::disconnect);
        tell("disconnect again", DatagramSocket::disconnect);
        askWhatItIs(" without a peer");
        tell("connect to another one", socket -> socket.connect(other.getLocalSocketAddress()));
        tell("connect to yet another one", socket -> socket.connect(peer.getLocalSocketAddress()));
        ask("getRemoteSocketAddress after that", DatagramSocket::getRemoteSocketAddress);
        tell("disconnect at last", DatagramSocket::disconnect);
    }

    private void askToSendAndReceive() {
        tell("send null", socket -> socket.send(null));
        tell("send", socket -> socket.send(new DatagramPacket(new byte[1], 1, peer.getLocalSocketAddress())));
        tell("send nowhere", socket -> socket.send(new DatagramPacket(new byte[1], 1)));
        tell("send to port 0", socket -> socket.send(new DatagramPacket(new byte[1], 1, LOOPBACK, 0)));
        tell("send too much", socket -> socket.send(
                new DatagramPacket(new byte[TOO_LONG], TOO_LONG, peer.getLocalSocketAddress())));
        tell("receive null", socket -> socket.receive(null));
        tell("setSoTimeout(1)", socket -> socket.setSoTimeout(1));
        tell("receive", socket -> socket.receive(new DatagramPacket(new byte[1], 1)));
    }

    private void askToJoin() throws Exception {
        NetworkInterface loopback = NetworkInterface.getByInetAddress(LOOPBACK);
        SocketAddress single = peer.getLocalSocketAddress();
        tell("join null", socket -> socket.joinGroup(null, loopback));
        tell("join no host", socket -> socket.joinGroup(UNRESOLVED, loopback));
        tell("join another kind of address", socket -> socket.joinGroup(FOREIGN, loopback));
        tell("join no group", socket -> socket.joinGroup(single, loopback));
        tell("leave before", socket -> socket.leaveGroup(GROUP, loopback));
        tell("join", socket -> socket.joinGroup(GROUP, loopback));
        tell("join again", socket -> socket.joinGroup(GROUP, loopback));
        tell("leave", socket -> socket.leaveGroup(GROUP, loopback));
        tell("leave no group", socket -> socket.leaveGroup(single, loopback));
    }

    private DatagramSocket bring(DatagramSocket socket, State state) throws Exception {
        if (state == State.BOUND || state == State.CONNECTED || state == State.CLOSED) {
            socket.bind(new InetSocketAddress(LOOPBACK, 0));
        }
        if (state == State.CONNECTED || state == State.CLOSED) {
            socket.connect(peer.getLocalSocketAddress());
        }
        if (state == State.CLOSED || state == State.CLOSED_UNBOUND) {
            socket.close();
        }
        return socket;
    }

    private List<String> answers(DatagramSocket socket) {
        return questions.entrySet().stream().map(one -> one.getKey() + ": " + answer(one.getValue(), socket)).toList();
    }

    private static String answer(Question question, DatagramSocket socket) {
        try {
            return String.valueOf(question.ask(socket));
        } catch (IllegalArgumentException e) {
            return "IllegalArgumentException"; // in words of its own
        } catch (NullPointerException e) {
            return "NullPointerException";
        } catch (Exception e) {
            return e.toString();
        }
    }

    @ParameterizedTest
    @EnumSource
    void answersAreThoseOfJavaNet(State state) throws Exception {
        try (DatagramSocket judge = bring(new DatagramSocket((SocketAddress) null), state);
                DatagramSocket rdma = bring(new RdmaDatagramSocket((SocketAddress) null), state)) {
            List<String> expected = answers(judge);
            List<String> actual = answers(rdma);
            assertAll(IntStream.range(0, expected.size()).mapToObj(
                    i -> () -> assertEquals(expected.get(i), actual.get(i))));
        }
    }
}
