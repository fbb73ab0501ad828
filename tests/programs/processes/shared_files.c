/* shared_files.c others|closing: a thread waits for a transfer that another one has started; or
   threads write to descriptors that another one closes. */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kRounds = 2000, kBytes = 1000000 };
static char data[kBytes];
static struct aiocb transfer;
static int descriptor = -1, wrong = 0;

static void* start_transfer(void* nothing) {
  transfer.aio_fildes = open("file", O_CREAT | O_WRONLY, 0666);
  transfer.aio_buf = data;
  transfer.aio_nbytes = kBytes;
  aio_write(&transfer);
  return nothing;
}

static void* write_often(void* nothing) {
  for (int i = 0; i < kRounds; ++i) {
    const int fd = __atomic_load_n(&descriptor, __ATOMIC_RELAXED);
    if (fd >= 0 && pwrite(fd, data, 10, 0) < 0 && errno != EBADF) ++wrong;
  }
  return nothing;
}

static void close_often(void) {
  for (int i = 0; i < kRounds; ++i) {
    __atomic_store_n(&descriptor, open("file", O_CREAT | O_WRONLY, 0666), __ATOMIC_RELAXED);
    close(descriptor);
  }
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  pthread_t thread;
  if (strcmp(argv[1], "others") == 0) {
    pthread_create(&thread, NULL, start_transfer, NULL);
    pthread_join(thread, NULL);
    const double begin = MPI_Wtime();
    const struct aiocb* list[] = {&transfer};
    printf("suspended %d\n", aio_suspend(list, 1, NULL));
    printf("moved %zd\n", aio_return(&transfer));
    printf("waited %.4f\n", MPI_Wtime() - begin);
  } else {
    pthread_create(&thread, NULL, write_often, NULL);
    close_often();
    pthread_join(thread, NULL);
    printf("wrong %d\n", wrong);
  }
  MPI_Finalize();
  return 0;
}
