/* Two processes hand a word of shared memory to each other, as a rank and the simulator do: each
 * looks SPINS times, then sleeps on a futex. Prints ns for there and back.
 * Usage: futex_floor SPINS ROUNDS */
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared {
  _Atomic uint32_t turn;
  _Atomic uint32_t sleeps[2];
};

static void await(struct shared *shared, uint32_t side, long spins) {
  for (long i = 0; i < spins; ++i) {
    if (shared->turn == side) return;
    __builtin_ia32_pause();
  }
  for (;;) {
    shared->sleeps[side] = 1;
    if (shared->turn == side) break;
    syscall(SYS_futex, &shared->turn, FUTEX_WAIT, 1 - side, NULL, NULL, 0);
  }
  shared->sleeps[side] = 0;
}

static void play(struct shared *shared, uint32_t side, long spins, long rounds) {
  for (long i = 0; i < rounds; ++i) {
    await(shared, side, spins);
    shared->turn = 1 - side;
    if (shared->sleeps[1 - side]) syscall(SYS_futex, &shared->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
  }
}

int main(int argc, char **argv) {
  const long spins = atol(argv[1]), rounds = atol(argv[2]);
  struct shared *shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (fork() == 0) {
    play(shared, 1, spins, rounds);
    _exit(0);
  }
  play(shared, 0, spins, rounds);
  wait(NULL);
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%.1f\n", ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / rounds);
  return argc != 3;
}
