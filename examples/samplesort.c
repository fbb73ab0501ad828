/* Sorts random numbers that are spread over the ranks: sort locally, agree on splitters from a
 * sample, send every number to its rank (MPI_Alltoallv), merge by sorting again.
 *
 *   samplesort [numbers per rank]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int n = argc > 1 ? atoi(argv[1]) : 100000, sample = 32;

  const double begin = MPI_Wtime();
  double *mine = malloc(sizeof(double) * n);
  srand48(1234 + rank);
  for (int i = 0; i < n; i++) mine[i] = drand48();
  qsort(mine, n, sizeof(double), ascending);

  double *samples = malloc(sizeof(double) * sample * size), my_sample[32];
  for (int i = 0; i < sample; i++) my_sample[i] = mine[(long)n * i / sample];
  MPI_Allgather(my_sample, sample, MPI_DOUBLE, samples, sample, MPI_DOUBLE, MPI_COMM_WORLD);
  qsort(samples, (size_t)sample * size, sizeof(double), ascending);

  int *send = calloc(size, sizeof(int)), *receive = malloc(sizeof(int) * size);
  int *send_at = calloc(size + 1, sizeof(int)), *receive_at = calloc(size + 1, sizeof(int));
  for (int i = 0, to = 0; i < n; i++) {
    while (to < size - 1 && mine[i] >= samples[sample * (to + 1)]) to++;
    send[to]++;
  }
  MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) {
    send_at[i + 1] = send_at[i] + send[i];
    receive_at[i + 1] = receive_at[i] + receive[i];
  }
  const int count = receive_at[size];
  double *sorted = malloc(sizeof(double) * (count + 1));
  MPI_Alltoallv(mine, send, send_at, MPI_DOUBLE, sorted, receive, receive_at, MPI_DOUBLE,
                MPI_COMM_WORLD);
  qsort(sorted, count, sizeof(double), ascending);

  /* Each rank's last number must not exceed the next rank's first. */
  double last = count > 0 ? sorted[count - 1] : -1, before = -1;
  MPI_Exscan(&last, &before, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  int wrong = rank > 0 && count > 0 && before > sorted[0], any_wrong;
  double sum = 0, total;
  for (int i = 0; i < count; i++) sum += sorted[i];
  MPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%ld numbers %s, their sum is %.6f, %.4f s\n", (long)n * size,
           any_wrong ? "NOT SORTED" : "sorted", total, MPI_Wtime() - begin);
  free(mine);
  free(samples);
  free(send);
  free(receive);
  free(send_at);
  free(receive_at);
  free(sorted);
  MPI_Finalize();
  return any_wrong;
}
