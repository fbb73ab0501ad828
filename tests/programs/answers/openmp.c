/* OpenMP: numbers of threads and threadprivate variables of each rank's own; the first thread calls
   MPI inside a parallel region. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

static int own = 3;
#pragma omp threadprivate(own)

int main(int argc, char** argv) {
  int provided, rank, size, threads = 0, inside = 0, sum = 0, total = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  omp_set_num_threads(rank % 3 + 1);
  MPI_Barrier(MPI_COMM_WORLD);
#pragma omp parallel reduction(+ : sum)
  {
    own += 10 * rank + omp_get_thread_num();
#pragma omp master
    {
      int before = omp_get_num_threads();
      MPI_Allreduce(&before, &inside, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      threads = omp_get_num_threads();
    }
#pragma omp barrier
#pragma omp for
    for (int i = 0; i < 1000; ++i) sum += i;
  }
#pragma omp parallel reduction(+ : total)
  total += own;
  printf("%d: %d threads, %d in all, sum %d, own %d, level %d, at least funneled %d\n", rank,
         threads, inside, sum, total, omp_get_level(), provided >= MPI_THREAD_FUNNELED);
  MPI_Finalize();
  return 0;
}
