/* Two writes and a read by lio_listio, whose results are never fetched: list wait|nowait. */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

static char data[3][5000];

int main(int count, char** words) {
  int file = open("listed", O_RDWR | O_CREAT, 0666);
  int waits = count > 1 && strcmp(words[1], "wait") == 0;
  struct aiocb blocks[3];
  struct aiocb* list[3];
  memset(blocks, 0, sizeof blocks);
  for (int i = 0; i < 3; ++i) {
    blocks[i].aio_fildes = file;
    blocks[i].aio_buf = data[i];
    blocks[i].aio_nbytes = sizeof data[i];
    blocks[i].aio_offset = 5000 * (i % 2);
    blocks[i].aio_lio_opcode = i < 2 ? LIO_WRITE : LIO_READ;
    list[i] = &blocks[i];
  }
  if (lio_listio(LIO_WAIT, list, 2, NULL) != 0) return 1;
  if (lio_listio(waits ? LIO_WAIT : LIO_NOWAIT, list + 2, 1, NULL) != 0) return 2;
  while (aio_error(&blocks[2]) == EINPROGRESS) {
  }
  return 0;
}
