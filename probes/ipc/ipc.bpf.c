#include "probes/ipc/ipc.h"

#include <bpf/bpf_endian.h>

#include "probes/probe.bpf.h"

/* include/linux/socket.h, include/uapi/linux/in.h */
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17

/* Members that only tp_btf's arguments lead to. */
struct sock_common {
  unsigned short skc_family;
  __u32 skc_daddr;
  __u32 skc_rcv_saddr;
  __u16 skc_dport; /* the byte order of networks, unlike skc_num */
  __u16 skc_num;
} __attribute__((preserve_access_index));
struct sock {
  struct sock_common __sk_common;
  __u16 sk_protocol;
} __attribute__((preserve_access_index));
struct unix_sock {
  struct sock* peer;
} __attribute__((preserve_access_index));

/* Random, from the first conversation on: records do not show the kernel's addresses. */
static volatile __u64 mask = 0;

static __always_inline __u64 masked(__u64 address) {
  if (!mask) {
    const __u64 drawn = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
    __sync_val_compare_and_swap(&mask, 0, drawn);
  }
  return address ^ mask;
}

/* A number that is the same at both ends, and differs between pairs; 0 if the other end is unknown.
 * For Unix sockets it is the lower of their two addresses, which an end whose peer has closed still
 * knows. The exclusive or of both would be the same for many pairs: the kernel places sockets at
 * equal distances. Not inlined: with its registers in use the verifier would refuse the access to
 * cells. */
static __attribute__((noinline)) __u64 conversation_of(const struct sock* socket) {
  const struct sock_common* common = &socket->__sk_common;
  const __u32 family = BPF_CORE_READ(common, skc_family);
  if (family == AF_UNIX) {
    if (!bpf_core_type_exists(struct unix_sock)) return 0; /* in a module */
    __u64 here; /* a copy, since the verifier lets no program compute with a pointer */
    if (bpf_probe_read_kernel(&here, sizeof here, &socket) != 0) return 0;
    const __u64 there = (__u64)BPF_CORE_READ((const struct unix_sock*)socket, peer);
    return there ? masked(here < there ? here : there) : 0;
  }
  if (family != AF_INET && family != AF_INET6) return 0;
  const __u16 there = bpf_ntohs(BPF_CORE_READ(common, skc_dport));
  const __u16 here = BPF_CORE_READ(common, skc_num);
  const __u32 ports = here < there ? (__u32)here << 16 | there : (__u32)there << 16 | here;
  const __u32 addresses = BPF_CORE_READ(common, skc_daddr) ^ BPF_CORE_READ(common, skc_rcv_saddr);
  return (__u64)addresses << 32 | ports;
}

static __always_inline __u32 class_of(__u32 family, __u32 protocol) {
  if (family == AF_UNIX) return IPC_UNIX;
  if (protocol == IPPROTO_TCP) return IPC_TCP;
  return protocol == IPPROTO_UDP ? IPC_UDP : IPC_OTHER;
}

static __always_inline int moved(__u32 point, const struct sock* socket, __s32 result) {
  if (result <= 0) return 0;
  const __u32 class_ = class_of(socket->__sk_common.skc_family, socket->sk_protocol);
  note_anywhere(point, class_, (__u32)result, 0);
  if (settings.tracing[point]) {
    trace(point, class_, 0, 0, conversation_of(socket), (__u32)result, 0);
  }
  return 0;
}

SEC("tp_btf/sock_send_length")
int send(__u64* ctx) { return moved(IPC_SEND, (const void*)ctx[0], (__s32)ctx[1]); }

/* Receiving with MSG_PEEK moves nothing. */
#define MSG_PEEK 2
SEC("tp_btf/sock_recv_length")
int receive(__u64* ctx) {
  if (ctx[2] & MSG_PEEK) return 0;
  return moved(IPC_RECEIVE, (const void*)ctx[0], (__s32)ctx[1]);
}

SEC("tp_btf/net_dev_start_xmit")
int transmit(__u64* ctx) {
  const struct sk_buff* packet = (const void*)ctx[0];
  note_anywhere(IPC_TRANSMIT, IPC_OTHER, packet->len, 0);
  trace(IPC_TRANSMIT, IPC_OTHER, 0, 0, 0, packet->len, 0);
  return 0;
}

#include "probes/ipc/call.bpf.h"
