"""victim.py connect HOST PORT COUNT | listen HOST COUNT: opens connections, tells it, and reads the second for ever."""
import sys

import plainsocket

server = plainsocket.listen(sys.argv[2]) if sys.argv[1] == "listen" else None
connections = []
for _ in range(int(sys.argv[-1])):
    connections.append(plainsocket.accept(server) if server else plainsocket.connect(sys.argv[2], sys.argv[3]))
    plainsocket.receive(connections[-1], 1)
print("ready", flush=True)
while connections[1].recv(65536):
    pass
sys.exit("the connection that should last has ended")
