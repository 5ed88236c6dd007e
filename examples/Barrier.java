// Nodes that wait for each other, then share out a sum: scatter, gather. Usage: Barrier RANK HOST:PORT...

import org.rdmasockets.endpoint.BarrierKind;
import org.rdmasockets.endpoint.LocalRegion;
import org.rdmasockets.endpoint.Message;
import org.rdmasockets.endpoint.RdmaEndpoint;
import org.rdmasockets.endpoint.RdmaNode;

static final Duration PATIENCE = Duration.ofSeconds(120);
static final int NUMBERS = 1000;

/** One process for each node: the same list of addresses for all, a rank of its own for each, from 0 on. */
void main(String[] args) throws IOException {
    Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> System.err.println(e));
    if (args.length < 3) {
        System.err.println("usage: Barrier RANK HOST:PORT HOST:PORT..., an address for each node");
        System.exit(2);
    }
    int rank = Integer.parseInt(args[0]);
    List<InetSocketAddress> nodes = Arrays.stream(args).skip(1).map(node -> node.split(":(?=[0-9]+$)"))
            .map(node -> new InetSocketAddress(node[0], Integer.parseInt(node[1]))).toList();
    List<Integer> all = IntStream.range(0, nodes.size()).boxed().toList();
    try (RdmaNode node = RdmaNode.join(RdmaEndpoint.builder(), nodes.get(rank).getAddress(), nodes, rank, PATIENCE)) {
        for (BarrierKind kind : BarrierKind.values()) {
            node.barrier(kind, all, PATIENCE);
            IO.println("node " + rank + " of " + node.size() + " is past the barrier " + kind);
        }
        if (rank == 0) {
            share(node);
        } else {
            work(node);
        }
        node.barrier(PATIENCE); // or the first to leave would end what others are still about
    }
}

/** Each of the others gets its own numbers and sends back what they add up to. */
void share(RdmaNode node) throws IOException {
    int others = node.others().size();
    long bytes = (long) NUMBERS * Long.BYTES;
    try (LocalRegion numbers = node.peer(1).allocate(others * bytes)) { // all connections of a node share their memory
        numbers.segment().asByteBuffer().asLongBuffer()
                .put(LongStream.rangeClosed(1, (long) others * NUMBERS).toArray());
        node.others().scatter(IntStream.range(0, others).mapToObj(i -> numbers.slice(i * bytes, bytes)).toList());
        long sum = 0;
        for (Message answer : node.others().gather(PATIENCE)) {
            try (answer) {
                sum += answer.segment().asByteBuffer().getLong();
            }
        }
        IO.println("the numbers from 1 to " + others * NUMBERS + " add up to " + sum);
    }
}

void work(RdmaNode node) throws IOException {
    RdmaEndpoint first = node.peer(0);
    try (Message numbers = first.receive(PATIENCE); LocalRegion answer = first.allocate(Long.BYTES)) {
        LongBuffer part = numbers.segment().asByteBuffer().asLongBuffer();
        long sum = 0;
        while (part.hasRemaining()) {
            sum += part.get();
        }
        answer.segment().asByteBuffer().putLong(sum);
        first.send(answer);
    }
}
