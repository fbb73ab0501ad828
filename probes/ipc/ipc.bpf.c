#include "probes/ipc/ipc.h"

#include "probes/probe.bpf.h"

/* include/linux/socket.h, include/uapi/linux/in.h */
#define AF_UNIX 1
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17

/* Members that only tp_btf's arguments lead to. */
struct sock_common {
  unsigned short skc_family;
} __attribute__((preserve_access_index));
struct sock {
  struct sock_common __sk_common;
  __u16 sk_protocol;
} __attribute__((preserve_access_index));

static __always_inline int moved(__u32 point, const struct sock* socket, __s32 result) {
  if (result <= 0) return 0;
  __u32 class_ = IPC_OTHER;
  if (socket->__sk_common.skc_family == AF_UNIX) class_ = IPC_UNIX;
  if (socket->sk_protocol == IPPROTO_TCP) class_ = IPC_TCP;
  if (socket->sk_protocol == IPPROTO_UDP) class_ = IPC_UDP;
  note_anywhere(point, class_, (__u32)result, 0);
  trace(point, class_, 0, 0, (__u64)socket, (__u32)result, 0);
  return 0;
}

SEC("tp_btf/sock_send_length")
int send(__u64* ctx) { return moved(IPC_SEND, (const void*)ctx[0], (__s32)ctx[1]); }

/* Looking without taking (MSG_PEEK) moves nothing. */
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
