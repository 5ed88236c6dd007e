/*
 * The headers the bindings are generated from: verbs, the connection manager, and below them what is needed of libc.
 * Without _GNU_SOURCE: with it glibc declares the address of connect and getsockname as a transparent union, which
 * has no layout in Java.
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
