/* last_calls.cc THREADS: one thread after another, each with an object whose destructor closes a
   file when the thread has made its last call. */
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

static int closed = 0;

struct File {
  int descriptor = -1;
  ~File() { closed += close(descriptor) == 0; }
};

static void use_file() {
  thread_local File file;  // before the first call: its destructor comes after those of others
  file.descriptor = open("file", O_CREAT | O_WRONLY, 0666);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  for (int i = 0; i < atoi(argv[1]); ++i) std::thread(use_file).join();
  printf("closed %d\n", closed);
  MPI_Finalize();
  return 0;
}
