/* Writes and reads a file by io_uring, with liburing: 32 blocks each way, four at a time. */
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

enum { BLOCKS = 32, DEPTH = 4, SIZE = 4096 };

static char data[DEPTH][SIZE];

int main(int count, char** words) {
  struct io_uring ring;
  int all = count > 1 && strcmp(words[1], "names") == 0;
  int file = open("blocks", O_RDWR | O_CREAT | O_TRUNC, 0666);
  if (file < 0 || io_uring_queue_init(DEPTH, &ring, 0) < 0) return 77;
  for (int i = 0; i < 2 * BLOCKS; i += DEPTH) {
    struct iovec parts[DEPTH];
    for (int j = 0; j < DEPTH; ++j) {
      struct io_uring_sqe* request = io_uring_get_sqe(&ring);
      off_t offset = (off_t)((i + j) % BLOCKS) * SIZE;
      parts[j] = (struct iovec){data[j], SIZE};
      if (i < BLOCKS && j % 2 == 0) io_uring_prep_write(request, file, data[j], SIZE, offset);
      if (i < BLOCKS && j % 2 == 1) io_uring_prep_writev(request, file, &parts[j], 1, offset);
      if (i >= BLOCKS) io_uring_prep_read(request, file, data[j], SIZE, offset);
    }
    if (io_uring_submit_and_wait(&ring, DEPTH) != DEPTH) return 1;
    for (int j = 0; j < DEPTH; ++j) {
      struct io_uring_cqe* result;
      if (io_uring_wait_cqe(&ring, &result) < 0 || result->res != SIZE) return 2;
      io_uring_cqe_seen(&ring, result);
    }
  }
  if (all) {
    struct io_uring_cqe* result;
    io_uring_prep_unlinkat(io_uring_get_sqe(&ring), AT_FDCWD, "blocks", 0);
    if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &result) < 0) return 3;
  }
  io_uring_queue_exit(&ring);
  return 0;
}
