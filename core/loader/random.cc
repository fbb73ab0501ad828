// Random numbers of the C library, with the sequences that a process of its own would see.
#include <stdlib.h>

#include "core/loader/bindings.h"
#include "core/loader/process.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

random_data* random_of(RankProcess& process) {
  if (process.random == nullptr) {
    process.random = std::make_unique<RandomState>();
    RandomState& state = *process.random;
    initstate_r(1, state.table.data(), state.table.size(), &state.data);
  }
  return &process.random->data;
}

drand48_data* random48_of(RankProcess& process) {
  if (process.random48 == nullptr) process.random48 = std::make_unique<drand48_data>();
  return process.random48.get();
}

// The buffer that is in use now, as initstate and setstate return it.
char* state_buffer(random_data* data) { return reinterpret_cast<char*>(data->state - 1); }

}  // namespace

extern "C" {

long rank_random() {
  RankProcess* process = current();
  if (process == nullptr) return REAL(random)();
  int32_t result;
  random_r(random_of(*process), &result);
  return result;
}

int rank_rand() { return current() == nullptr ? REAL(rand)() : static_cast<int>(rank_random()); }

void rank_srandom(unsigned int seed) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(srandom)(seed);
  srandom_r(seed, random_of(*process));
}

char* rank_initstate(unsigned int seed, char* buffer, size_t size) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(initstate)(seed, buffer, size);
  random_data* data = random_of(*process);
  char* previous = state_buffer(data);
  return initstate_r(seed, buffer, size, data) == 0 ? previous : nullptr;
}

char* rank_setstate(char* buffer) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(setstate)(buffer);
  random_data* data = random_of(*process);
  char* previous = state_buffer(data);
  return setstate_r(buffer, data) == 0 ? previous : nullptr;
}

double rank_drand48() {
  RankProcess* process = current();
  if (process == nullptr) return REAL(drand48)();
  double result;
  drand48_r(random48_of(*process), &result);
  return result;
}

double rank_erand48(unsigned short* state) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(erand48)(state);
  double result;
  erand48_r(state, random48_of(*process), &result);
  return result;
}

long rank_lrand48() {
  RankProcess* process = current();
  if (process == nullptr) return REAL(lrand48)();
  long result;
  lrand48_r(random48_of(*process), &result);
  return result;
}

long rank_nrand48(unsigned short* state) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(nrand48)(state);
  long result;
  nrand48_r(state, random48_of(*process), &result);
  return result;
}

long rank_mrand48() {
  RankProcess* process = current();
  if (process == nullptr) return REAL(mrand48)();
  long result;
  mrand48_r(random48_of(*process), &result);
  return result;
}

long rank_jrand48(unsigned short* state) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(jrand48)(state);
  long result;
  jrand48_r(state, random48_of(*process), &result);
  return result;
}

void rank_srand48(long seed) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(srand48)(seed);
  srand48_r(seed, random48_of(*process));
}

unsigned short* rank_seed48(unsigned short* seed) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(seed48)(seed);
  drand48_data* data = random48_of(*process);
  seed48_r(seed, data);
  return data->__old_x;
}

void rank_lcong48(unsigned short* parameters) {
  RankProcess* process = current();
  if (process == nullptr) return REAL(lcong48)(parameters);
  lcong48_r(parameters, random48_of(*process));
}

}  // extern "C"

void bind_random(BindingTable& table) {
  BIND(table, random);
  BIND(table, rand);
  BIND(table, srandom);
  BIND_AS(table, "srand", srandom);
  BIND(table, initstate);
  BIND(table, setstate);
  BIND(table, drand48);
  BIND(table, erand48);
  BIND(table, lrand48);
  BIND(table, nrand48);
  BIND(table, mrand48);
  BIND(table, jrand48);
  BIND(table, srand48);
  BIND(table, seed48);
  BIND(table, lcong48);
}

}  // namespace sesame::loader
