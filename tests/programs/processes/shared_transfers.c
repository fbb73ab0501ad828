/* shared_transfers suspend|list: several threads wait for one asynchronous transfer; or one asks
   for its state while another waits for it. */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 1000000, kThreads = 3 };
static char data[kBytes];
static struct aiocb transfer;
static double begin, ended[kThreads];
static int failed[kThreads];

static void* suspend(void* number) {
  const struct aiocb* list[] = {&transfer};
  const long i = (long)number;
  failed[i] = aio_suspend(list, 1, NULL);
  failed[i] |= aio_error(&transfer);
  ended[i] = MPI_Wtime() - begin;
  return NULL;
}

static void* list(void* nothing) {
  struct aiocb* const all[] = {&transfer};
  failed[0] = lio_listio(LIO_WAIT, all, 1, NULL);
  ended[0] = MPI_Wtime() - begin;
  return nothing;
}

static void suspend_all(void) {
  pthread_t threads[kThreads];
  aio_write(&transfer);
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, suspend, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) printf("suspended %d for %.4f\n", failed[i], ended[i]);
}

static void ask_while_listed(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, list, NULL);
  usleep(2000);
  printf("in progress %d\n", aio_error(&transfer) == EINPROGRESS);
  usleep(20000);
  printf("then %d\n", aio_error(&transfer));
  pthread_join(thread, NULL);
  printf("listed %d for %.4f\n", failed[0], ended[0]);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  transfer.aio_fildes = open("file", O_CREAT | O_WRONLY, 0666);
  transfer.aio_buf = data;
  transfer.aio_nbytes = kBytes;
  transfer.aio_lio_opcode = LIO_WRITE;
  begin = MPI_Wtime();
  if (strcmp(argv[1], "suspend") == 0)
    suspend_all();
  else
    ask_while_listed();
  printf("moved %zd\n", aio_return(&transfer));
  MPI_Finalize();
  return 0;
}
