/*
 * Both ends of rdma-example, written to its description: the peer of examples/RdmaCopyServer and RdmaCopyClient.
 *
 *     rdma_copy server ADDRESS PORT
 *     rdma_copy client ADDRESS PORT TEXT
 *
 * The server prints what is in its buffer when the client has disconnected; the client prints SUCCESS. A failed
 * call is named, with its error number, and ends the program. Nothing is freed: it serves one connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>

#define RESOLVE_MILLIS 2000
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

struct __attribute__((packed)) record {
	uint64_t address;
	uint32_t length;
	uint32_t stag;
};

_Static_assert(sizeof(struct record) == 16, "a record has 16 bytes");

static struct rdma_event_channel *events;
static struct rdma_cm_id *id;
static struct ibv_pd *domain;
static struct ibv_comp_channel *channel;
static struct ibv_cq *queue;

static void fail(const char *what, int number)
{
	printf("%s failed: %d\n", what, number);
	exit(1);
}

static void check(const char *what, int status)
{
	if (status)
		fail(what, status < 0 ? errno : status);
}

static void *made(const char *what, void *it)
{
	if (!it)
		fail(what, errno);
	return it;
}

/* The identifier of the next event, which has to be of the kind. */
static struct rdma_cm_id *expect(enum rdma_cm_event_type kind)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *of;

	check("rdma_get_cm_event", rdma_get_cm_event(events, &event));
	if (event->event != kind) {
		printf("%s, status %d, instead of %s\n", rdma_event_str(event->event), event->status,
			rdma_event_str(kind));
		exit(1);
	}
	of = event->id;
	check("rdma_ack_cm_event", rdma_ack_cm_event(event));
	return of;
}

static void make_queue_pair(void)
{
	struct ibv_qp_init_attr wanted = {
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2},
		.qp_type = IBV_QPT_RC,
	};

	domain = made("ibv_alloc_pd", ibv_alloc_pd(id->verbs));
	channel = made("ibv_create_comp_channel", ibv_create_comp_channel(id->verbs));
	queue = made("ibv_create_cq", ibv_create_cq(id->verbs, 16, NULL, channel, 0));
	check("ibv_req_notify_cq", ibv_req_notify_cq(queue, 0));
	wanted.send_cq = wanted.recv_cq = queue;
	check("rdma_create_qp", rdma_create_qp(id, domain, &wanted));
}

static struct ibv_mr *allocate(size_t length)
{
	return made("ibv_reg_mr", ibv_reg_mr(domain, made("calloc", calloc(1, length)), length, ACCESS));
}

static struct ibv_sge all_of(struct ibv_mr *region)
{
	return (struct ibv_sge) {(uintptr_t) region->addr, region->length, region->lkey};
}

static void post_receive(struct ibv_mr *region)
{
	struct ibv_sge piece = all_of(region);
	struct ibv_recv_wr request = {.sg_list = &piece, .num_sge = 1}, *bad;

	check("ibv_post_recv", ibv_post_recv(id->qp, &request, &bad));
}

static void post(enum ibv_wr_opcode opcode, struct ibv_mr *region, const struct record *remote)
{
	struct ibv_sge piece = all_of(region);
	struct ibv_send_wr request = {.sg_list = &piece, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED}, *bad;

	if (remote) {
		request.wr.rdma.remote_addr = remote->address;
		request.wr.rdma.rkey = remote->stag;
	}
	check("ibv_post_send", ibv_post_send(id->qp, &request, &bad));
}

/* Waits for as many completions, all of them successes. */
static void await_completions(int count)
{
	struct ibv_cq *of;
	struct ibv_wc done;
	void *context;
	int polled;

	while (count > 0) {
		polled = ibv_poll_cq(queue, 1, &done);
		if (polled < 0)
			fail("ibv_poll_cq", errno);
		if (polled == 0) {
			check("ibv_get_cq_event", ibv_get_cq_event(channel, &of, &context));
			ibv_ack_cq_events(of, 1);
			check("ibv_req_notify_cq", ibv_req_notify_cq(of, 0));
			continue;
		}
		if (done.status != IBV_WC_SUCCESS) {
			printf("%s\n", ibv_wc_status_str(done.status));
			exit(1);
		}
		count--;
	}
}

static struct rdma_conn_param parameters(void)
{
	return (struct rdma_conn_param) {.initiator_depth = 3, .responder_resources = 3, .retry_count = 3};
}

static void describe(struct ibv_mr *record, struct ibv_mr *region)
{
	*(struct record *) record->addr =
		(struct record) {(uintptr_t) region->addr, region->length, region->rkey};
}

static void serve(struct sockaddr_in *address)
{
	struct rdma_conn_param answer = parameters();
	struct rdma_cm_id *listener;
	struct ibv_mr *wanted, *lent, *buffer;

	check("rdma_create_id", rdma_create_id(events, &listener, NULL, RDMA_PS_TCP));
	check("rdma_bind_addr", rdma_bind_addr(listener, (struct sockaddr *) address));
	check("rdma_listen", rdma_listen(listener, 8));
	printf("listening on port %d\n", ntohs(rdma_get_src_port(listener)));
	id = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
	make_queue_pair();
	wanted = allocate(sizeof(struct record));
	post_receive(wanted);
	check("rdma_accept", rdma_accept(id, &answer));
	expect(RDMA_CM_EVENT_ESTABLISHED);
	await_completions(1);
	buffer = allocate(((struct record *) wanted->addr)->length);
	lent = allocate(sizeof(struct record));
	describe(lent, buffer);
	post(IBV_WR_SEND, lent, NULL);
	await_completions(1);
	expect(RDMA_CM_EVENT_DISCONNECTED);
	printf("buffer: %.*s\n", (int) buffer->length, (char *) buffer->addr);
}

static void copy(struct sockaddr_in *address, const char *text)
{
	struct rdma_conn_param request = parameters();
	struct ibv_mr *source, *destination, *own, *lent;

	check("rdma_create_id", rdma_create_id(events, &id, NULL, RDMA_PS_TCP));
	check("rdma_resolve_addr", rdma_resolve_addr(id, NULL, (struct sockaddr *) address, RESOLVE_MILLIS));
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	check("rdma_resolve_route", rdma_resolve_route(id, RESOLVE_MILLIS));
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_queue_pair();
	source = allocate(strlen(text));
	memcpy(source->addr, text, source->length);
	destination = allocate(source->length);
	lent = allocate(sizeof(struct record));
	post_receive(lent);
	check("rdma_connect", rdma_connect(id, &request));
	expect(RDMA_CM_EVENT_ESTABLISHED);
	own = allocate(sizeof(struct record));
	describe(own, source);
	post(IBV_WR_SEND, own, NULL);
	await_completions(2);
	post(IBV_WR_RDMA_WRITE, source, lent->addr);
	await_completions(1);
	post(IBV_WR_RDMA_READ, destination, lent->addr);
	await_completions(1);
	if (memcmp(source->addr, destination->addr, source->length)) {
		printf("FAILURE, the buffers differ\n");
		exit(1);
	}
	printf("SUCCESS\n");
	check("rdma_disconnect", rdma_disconnect(id));
	expect(RDMA_CM_EVENT_DISCONNECTED);
}

int main(int count, char **arguments)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int is_server = count == 4 && !strcmp(arguments[1], "server");

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!is_server && (count != 5 || strcmp(arguments[1], "client"))) {
		fprintf(stderr, "usage: rdma_copy server ADDRESS PORT, or rdma_copy client ADDRESS PORT TEXT\n");
		return 2;
	}
	if (inet_pton(AF_INET, arguments[2], &address.sin_addr) != 1)
		fail("inet_pton", EINVAL);
	address.sin_port = htons(atoi(arguments[3]));
	events = made("rdma_create_event_channel", rdma_create_event_channel());
	if (is_server)
		serve(&address);
	else
		copy(&address, arguments[4]);
	return 0;
}
