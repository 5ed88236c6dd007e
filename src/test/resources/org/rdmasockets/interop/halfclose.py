"""halfclose.py first HOST PORT BYTES | second HOST: one side sends and ends its half, the other then answers.

The answer is the SHA-256 of all that arrived before the end, and then the same bytes again.
"""
import hashlib
import os
import socket
import sys

import plainsocket

if sys.argv[1] == "first":
    peer = plainsocket.connect(sys.argv[2], sys.argv[3])
    sent = os.urandom(int(sys.argv[4]))
    peer.sendall(sent)
    peer.shutdown(socket.SHUT_WR)
    if plainsocket.receive_all(peer) != hashlib.sha256(sent).digest() + sent:
        sys.exit("the answer is wrong")
else:
    peer = plainsocket.accept(plainsocket.listen(sys.argv[2]))
    received = plainsocket.receive_all(peer)
    peer.sendall(hashlib.sha256(received).digest() + received)
peer.close()
print("done", flush=True)
