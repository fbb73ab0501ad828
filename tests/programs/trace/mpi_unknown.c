/* With -DLIBRARY an MPI library unknown to the tracer; else a program for it. */
#include <stdio.h>

#ifdef LIBRARY
int PMPI_Init(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
  return 0;
}
int PMPI_Send(const void* data, long count, double type, float peer) {
  (void)data;
  printf("sent %ld %.2f %.2f\n", count, type, peer);
  return 7;
}
int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
int MPI_Send(const void* data, long count, double type, float peer) {
  return PMPI_Send(data, count, type, peer);
}
#else
int MPI_Init(int* argc, char*** argv);
int MPI_Send(const void* data, long count, double type, float peer);
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return MPI_Send("", 1L << 40, 2.5, 3.25f) == 7 ? 0 : 1;
}
#endif
