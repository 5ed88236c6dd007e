// Sends back whatever arrives, on one virtual thread per connection. Usage: EchoServer [PORT]

import org.rdmasockets.RdmaServerSocket;
import org.rdmasockets.RdmaSocketOptions;

void main(String[] args) {
    int port = args.length > 0 ? Integer.parseInt(args[0]) : 7777;
    try (RdmaServerSocket server = new RdmaServerSocket(port)) {
        IO.println(server.getLocalSocketAddress() + " " + server.getOption(RdmaSocketOptions.TRANSPORT).reason());
        while (true) {
            Socket socket = server.accept();
            Thread.startVirtualThread(() -> echo(socket));
        }
    } catch (IOException e) {
        System.err.println("cannot serve port " + port + ": " + e.getMessage());
        System.exit(1);
    }
}

void echo(Socket socket) {
    try (socket) {
        long bytes = socket.getInputStream().transferTo(socket.getOutputStream());
        IO.println(socket.getRemoteSocketAddress() + ": " + bytes + " bytes, then end of stream");
    } catch (IOException e) {
        IO.println(socket.getRemoteSocketAddress() + ": " + e.getMessage());
    }
}
