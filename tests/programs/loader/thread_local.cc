// Thread-local variables of a program: plain, aligned, with constructors and destructors, a pointer
// that is relocated; of a library that finds them at fixed distances; in threads of the program.
#include <errno.h>
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>

extern "C" int* library_initial(void);
extern "C" int* library_descriptor(void);
extern thread_local int library_shown;

namespace {

struct Named {
  explicit Named(const char* n) : name(n) {}
  ~Named() { printf("destroy %s\n", name.c_str()); }
  std::string name;
};

const char* const words[] = {"zero", "one"};
thread_local int number = 5;
thread_local int zero;
thread_local const char* const* pointer = &words[1];
alignas(128) thread_local char line[128] = "line";
thread_local Named first("first"), second("second");
Named global("global");

void print(int rank) {
  printf("%d %d %s %s %d %s %s %d %d %d errno %d\n", number, zero, *pointer, line,
         static_cast<int>(reinterpret_cast<uintptr_t>(line) % 128), first.name.c_str(),
         second.name.c_str(), *library_initial(), *library_descriptor(), library_shown, errno);
  (void)rank;
}

}  // namespace

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  number += rank;
  zero = 10 * rank;
  pointer = &words[rank % 2];
  first.name += std::to_string(rank);
  *library_initial() += rank;
  *library_descriptor() += rank;
  library_shown += rank;
  errno = 40 + rank;
  MPI_Barrier(MPI_COMM_WORLD);
  print(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  std::thread([rank] { print(rank); }).join();
  MPI_Barrier(MPI_COMM_WORLD);
  print(rank);
  MPI_Finalize();
  return 0;
}
