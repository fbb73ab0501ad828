/* Computation as an amount of work, not of time: what else runs on the machine makes it longer, as
 * it does with a program's own computation. */
#ifndef SESAME_BENCH_ARITHMETIC_H_
#define SESAME_BENCH_ARITHMETIC_H_

/* `thousands` times 1,000 multiplications and additions, each of which depends on the previous one.
 * Use the result, and pass it as `value` to the next call: otherwise compilers remove the work. */
static inline double arithmetic(double value, long thousands) {
  for (long i = 0; i < 1000 * thousands; ++i) value = value * 0.999999 + 1e-6;
  return value;
}

#endif
