// C++: the calls are made by a method in a namespace, so that their place has a name of C++.
#include <mpi.h>

namespace ring {
class Exchange {
 public:
  [[gnu::noinline]] int shift(int value) const;
};

int Exchange::shift(int value) const {
  int rank, size, received = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return received;
}
}  // namespace ring

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ring::Exchange exchange;
  int value = 1;
  for (int i = 0; i < 100; i++) value = exchange.shift(value);
  MPI_Finalize();
  return value == 1 ? 0 : 1;
}
