/*
 * For LD_PRELOAD before librdmacm: address handles for RoCE.
 *
 * The datagram sockets of librdmacm make a handle of their own port that has a LID and no GID. On Ethernet there are
 * no LIDs, ibv_create_ah says EINVAL, and rbind and rconnect fail. Here such a handle leads to the port's own IPv4
 * address. Programs on one host need no other.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>

#define ENTRIES 64

static int is_ipv4(const union ibv_gid *gid)
{
    return gid->global.subnet_prefix == 0 && gid->raw[8] == 0 && gid->raw[10] == 0xff && gid->raw[11] == 0xff;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *domain, struct ibv_ah_attr *way)
{
    struct ibv_ah *(*create)(struct ibv_pd *, struct ibv_ah_attr *) = dlsym(RTLD_NEXT, "ibv_create_ah");
    struct ibv_gid_entry table[ENTRIES];
    ssize_t count = way->is_global ? 0 : ibv_query_gid_table(domain->context, table, ENTRIES, 0);

    for (ssize_t i = 0; i < count && !way->is_global; i++) {
        if (table[i].port_num == way->port_num && table[i].gid_type == IBV_GID_TYPE_ROCE_V2
            && is_ipv4(&table[i].gid)) {
            way->is_global = 1;
            way->grh.dgid = table[i].gid;
            way->grh.sgid_index = (uint8_t) table[i].gid_index;
            way->grh.hop_limit = 64;
        }
    }
    return create(domain, way);
}
