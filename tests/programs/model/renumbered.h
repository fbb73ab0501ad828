/* Included in front of a program that knows nothing of it: its ranks have other numbers than those
 * of MPI_COMM_WORLD, and begin at times that have nothing in common.
 *
 * RENUMBERED is the number that each rank of MPI_COMM_WORLD has in the program, as "2,0,1,". What
 * is MPI_COMM_WORLD in the program is a communicator in that order. Rank r of the program begins at
 * one second and some microseconds of simulated time that follow from r alone, wherever it runs,
 * so that no two messages are ready at the same time by symmetry. In MPI_Finalize each rank
 * writes to standard error when it began and the time: "rank 2: 1.000123456789 1.234567890123".
 */
#ifndef SESAME_TESTS_RENUMBERED_H_
#define SESAME_TESTS_RENUMBERED_H_

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef __cplusplus
#define RENUMBERED_INLINE inline /* one communicator for all files of the program */
#else
#define RENUMBERED_INLINE static inline
#endif

static inline void renumbered_sleep_until(double second) {
  const double left = second - MPI_Wtime();
  const struct timespec time = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
  nanosleep(&time, NULL);
}

RENUMBERED_INLINE double* renumbered_begin(void) {
  static double begin;
  return &begin;
}

RENUMBERED_INLINE MPI_Comm renumbered_world(void) {
  static MPI_Comm made = MPI_COMM_NULL;
  if (made != MPI_COMM_NULL) return made;
  int place, number;
  MPI_Comm_rank(MPI_COMM_WORLD, &place);
  const char* text = getenv("RENUMBERED");
  for (int i = 0;; ++i, ++text) {
    number = (int)strtol(text, (char**)&text, 10);
    if (i == place) break;
  }
  MPI_Comm_split(MPI_COMM_WORLD, 0, number, &made);
  renumbered_sleep_until(1 + 1e-6 * (number * 7919 % 1009) + 1e-9 * (number * 104729 % 997));
  *renumbered_begin() = MPI_Wtime();
  return made;
}

static inline int renumbered_init(int* words, char*** arguments) {
  const int status = MPI_Init(words, arguments);
  renumbered_world();
  return status;
}

static inline int renumbered_finalize(void) {
  int number;
  MPI_Comm_rank(renumbered_world(), &number);
  fprintf(stderr, "rank %d: %.12f %.12f\n", number, *renumbered_begin(), MPI_Wtime());
  return MPI_Finalize();
}

#undef MPI_COMM_WORLD
#define MPI_COMM_WORLD renumbered_world()
#define MPI_Init renumbered_init
#define MPI_Finalize renumbered_finalize

#endif
