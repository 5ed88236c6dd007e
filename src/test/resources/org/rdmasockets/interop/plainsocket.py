"""Python's sockets in the plain form that librspreload of rdma-core 44 understands.

Python opens sockets with SOCK_CLOEXEC and accepts with accept4. That library refuses the one and does not see the
other, and what it refuses silently becomes TCP. Hence these two calls; all else is Python's socket as it is.
"""
import ctypes
import os
import socket

_libc = ctypes.CDLL(None, use_errno=True)


def _wrap(descriptor):
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=descriptor)


def new():
    return _wrap(_libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0))


def connect(host, port):
    connection = new()
    connection.connect((host, int(port)))
    return connection


def listen(host):
    server = new()
    server.bind((host, 0))
    server.listen(8)
    print("listening", server.getsockname()[1], flush=True)
    return server


def accept(server):
    return _wrap(_libc.accept(server.fileno(), None, None))


def receive(connection, length):
    """Exactly so many bytes."""
    data = bytearray()
    while len(data) < length:
        part = connection.recv(min(length - len(data), 65536))
        if not part:
            raise EOFError("the stream ended after %d of %d bytes" % (len(data), length))
        data += part
    return bytes(data)


def receive_all(connection):
    """Everything up to the end of the stream."""
    data = bytearray()
    while part := connection.recv(65536):
        data += part
    return bytes(data)
