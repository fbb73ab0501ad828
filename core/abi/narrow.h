// Shared by the entry points of all interfaces: macros that define symbols, and arguments whose
// results are wider in Sesame (large counts) than in the classic function. An object stands for one
// such argument during a call: get() is passed on, store() hands the result to the program.
#pragma once

#include <climits>

#include "core/mpi/objects/constants.h"

// A function with the name that programs link to, and its second name for profiling tools.
#define SESAME_ENTRY extern "C" __attribute__((visibility("default")))
#define SESAME_PROFILE(name) \
  extern "C"                 \
      __attribute__((visibility("default"), copy(name), alias(#name))) decltype(name) P##name;

// The same for an older name that programs link to.
#define SESAME_SECOND_NAME(name, second) \
  extern "C" __attribute__((visibility("default"), copy(name), alias(#name))) decltype(name) second;

namespace sesame::abi {

using namespace sesame::mpi;

template <typename Narrow, typename Wide = Count>
class NarrowOut {
 public:
  explicit NarrowOut(Narrow* target) : target_(target) {}
  Wide* get() { return target_ == nullptr ? nullptr : &value_; }
  // What does not fit is undefined (MPI 4.0, section 4.2.5).
  void store() {
    if (target_ == nullptr || value_ == kUnset) return;
    *target_ = static_cast<Narrow>(value_);
    if (*target_ != value_) *target_ = MPI_UNDEFINED;
  }

 protected:
  static constexpr Wide kUnset = LLONG_MIN;
  Narrow* target_;
  Wide value_ = kUnset;
};

template <typename Narrow>
class NarrowInOut : public NarrowOut<Narrow> {
 public:
  explicit NarrowInOut(Narrow* target) : NarrowOut<Narrow>(target) {
    if (target != nullptr) this->value_ = *target;
  }
};

using CountOut = NarrowOut<int>;
using CountInOut = NarrowInOut<int>;
using SizeOut = NarrowOut<Aint>;
using DisplacementUnitOut = NarrowOut<int, Aint>;
using SizeInOut = NarrowInOut<Aint>;

}  // namespace sesame::abi
