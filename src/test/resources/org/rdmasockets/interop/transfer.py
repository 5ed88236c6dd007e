"""transfer.py client HOST PORT BYTES | server HOST BYTES: random bytes and their SHA-256 each way, client first."""
import hashlib
import os
import sys

import plainsocket


def send(connection, length):
    data = os.urandom(length)
    connection.sendall(data + hashlib.sha256(data).digest())


def receive(connection, length):
    data = plainsocket.receive(connection, length)
    if plainsocket.receive(connection, 32) != hashlib.sha256(data).digest():
        sys.exit("what arrived is not what was sent")


length = int(sys.argv[-1])
if sys.argv[1] == "client":
    peer = plainsocket.connect(sys.argv[2], sys.argv[3])
    print("connected", flush=True)
    send(peer, length)
    receive(peer, length)
else:
    peer = plainsocket.accept(plainsocket.listen(sys.argv[2]))
    receive(peer, length)
    send(peer, length)
peer.close()
print("done", flush=True)
