/* Messages in kernels that have no tracepoints of sockets (before Linux 6.3): counted at the end of
 * system calls on sockets. Calls of several messages (sendmmsg, recvmmsg), sendfile and io_uring
 * are not counted; receiving with MSG_PEEK is. */
#pragma once

#include <asm/unistd.h>

#include "probes/call.bpf.h"

#define SOCKFS_MAGIC 0x534f434b /* include/uapi/linux/magic.h */
#define CALLS 512

struct socket {
  struct sock* sk;
} __attribute__((preserve_access_index));
struct file___of_socket {
  struct socket* private_data;
} __attribute__((preserve_access_index));

/* Which point a call belongs to, plus one; by its number. */
static const __u8 points[CALLS] = {
    [__NR_sendto] = IPC_SEND + 1,      [__NR_sendmsg] = IPC_SEND + 1,
    [__NR_write] = IPC_SEND + 1,       [__NR_writev] = IPC_SEND + 1,
    [__NR_recvfrom] = IPC_RECEIVE + 1, [__NR_recvmsg] = IPC_RECEIVE + 1,
    [__NR_read] = IPC_RECEIVE + 1,     [__NR_readv] = IPC_RECEIVE + 1,
};

SEC("tp_btf/sys_exit")
int end_of_call(__u64* ctx) {
  struct cells* mine = begin_run();
  const struct pt_regs* registers = (const void*)ctx[0];
  const __s64 result = (__s64)ctx[1];
  const __u64 call = CALL_NUMBER(registers);
  const __u32 point_and_one = call < CALLS ? points[call] : 0;
  if (!mine || !point_and_one || result <= 0 || has_other_number()) return 0;
  const struct file* file = file_of((__u32)FIRST_ARGUMENT(registers));
  if (!file || BPF_CORE_READ(file, f_inode, i_sb, s_magic) != SOCKFS_MAGIC) return 0;
  const struct sock* socket = BPF_CORE_READ((const struct file___of_socket*)file, private_data, sk);
  const __u32 class_ =
      class_of(BPF_CORE_READ(socket, __sk_common.skc_family), BPF_CORE_READ(socket, sk_protocol));
  const __u32 point = (point_and_one - 1) & (SESAME_MAX_POINTS - 1);
  note_in(mine, point, class_, (__u64)result, 0);
  if (settings.tracing[point]) {
    trace(point, class_, 0, 0, conversation_of(socket), (__u64)result, 0);
  }
  return 0;
}
