// Numbers that look random and depend on nothing but what they are made of.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace sesame {

// The output step of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014), a bijection in which each bit of the result depends on all of `z`.
constexpr uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// Of several numbers, in this order.
constexpr uint64_t mix64(std::initializer_list<uint64_t> numbers) {
  constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15ull;  // SplitMix64's step
  uint64_t mixed = 0;
  for (const uint64_t number : numbers) mixed = mix64((mixed ^ number) + kGoldenGamma);
  return mixed;
}

}  // namespace sesame
