/* late.cc MPI: writes to two files, by a descriptor and by a stream, after main has ended: in an
   atexit handler, and in the destructors of static objects, here and in its library. Opens the
   library MPI by name, so that its own library does not end before that. */
#include <dlfcn.h>
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>

extern int descriptor;
extern FILE* stream;
void write_to_both(const char* text);

namespace {
struct Log {
  ~Log() { write_to_both("object\n"); }
} log_of_program;
}  // namespace

int main(int argc, char** argv) {
  atexit([] { write_to_both("handler\n"); });
  void* const mpi = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (mpi == nullptr) return 1;
  reinterpret_cast<int (*)(int*, char***)>(dlsym(mpi, "MPI_Init"))(&argc, &argv);
  descriptor = open("late-descriptor", O_CREAT | O_WRONLY, 0666);
  stream = fopen("late-stream", "w");
  reinterpret_cast<int (*)()>(dlsym(mpi, "MPI_Finalize"))();
  return 0;
}
