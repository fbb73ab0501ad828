/* Makes 80 rings of io_uring by system calls, and submits one operation, which does nothing, on the
 * last. Status 77 where io_uring is switched off. */
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RINGS = 80 };

int main(void) {
  struct io_uring_params how;
  int ring = -1;
  for (int i = 0; i < RINGS; ++i) {
    memset(&how, 0, sizeof how);
    ring = (int)syscall(SYS_io_uring_setup, 1, &how);
    if (ring < 0) return 77;
  }
  const size_t bytes = how.sq_off.array + how.sq_entries * sizeof(unsigned);
  const int access = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
  char* queue = mmap(NULL, bytes, access, flags, ring, IORING_OFF_SQ_RING);
  struct io_uring_sqe* requests = mmap(NULL, how.sq_entries * sizeof(struct io_uring_sqe), access,
                                       flags, ring, IORING_OFF_SQES);
  if (queue == MAP_FAILED || requests == MAP_FAILED) return 1;
  memset(requests, 0, sizeof *requests);
  requests[0].opcode = IORING_OP_NOP;
  ((unsigned*)(queue + how.sq_off.array))[0] = 0;
  __atomic_store_n((unsigned*)(queue + how.sq_off.tail), 1, __ATOMIC_RELEASE);
  return syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1 ? 0 : 2;
}
