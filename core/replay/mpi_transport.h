/* What the transport library over MPI offers: a table of functions, so that the replayer needs to
 * know no MPI. C11; one thread at a time. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint32_t event;
  uint32_t unused;
  int64_t time_ns;
} sesame_token;

typedef struct {
  void (*start)(int* rank, int* size);
  int (*agree)(int ready); /* of all processes: 1 when all are */
  void (*send)(int process, const sesame_token* token);
  int (*receive)(sesame_token* token); /* 1 when there was one */
  void (*say_done)(void);              /* no more tokens from here */
  int (*all_done)(void);               /* 1 when no process has more, and all have come */
  /* All bytes at process 0, in the order of processes; elsewhere none. */
  int64_t (*gather)(const char* bytes, int64_t size, char** all);
  void (*release)(char* all);
  void (*finish)(void);
} sesame_mpi_transport;

__attribute__((visibility("default"))) const sesame_mpi_transport* sesame_transport(void);

#ifdef __cplusplus
}
#endif
