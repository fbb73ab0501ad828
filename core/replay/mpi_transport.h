/* The functions of the transport library over MPI, in a table, so that the replayer itself is not
 * linked to an MPI library. C11. Only one thread may call them at a time. */
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
  void (*start)(int* rank, int* size); /* initialises MPI */
  int (*agree)(int ready);             /* collective: 1 if all processes are ready */
  void (*send)(int process, const sesame_token* token);
  int (*receive)(sesame_token* token); /* 1 if there was one; does not wait */
  void (*say_done)(void);              /* this process sends no more tokens */
  int (*all_done)(void);               /* 1 if all other processes have called say_done() */
  /* Collective. At process 0 `all` gets the bytes of all processes, in their order, and their
   * number is returned; elsewhere `all` gets NULL. Free it with release(). */
  int64_t (*gather)(const char* bytes, int64_t size, char** all);
  void (*release)(char* all);
  void (*finish)(void);
} sesame_mpi_transport;

__attribute__((visibility("default"))) const sesame_mpi_transport* sesame_transport(void);

#ifdef __cplusplus
}
#endif
