// The parameters of a simulation: the keys of the machine file, in whose terms the sensitivity of
// the predicted time is given, and whatever else takes time ("other").
//
// Use: Parameter::of("network.bandwidth") gives the parameter of a name, made at its first use;
// SimTime::due_to() attributes a duration to it. In simulators without SESAME_SENSITIVITY a
// Parameter is empty and attributing does nothing. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sesame {

#ifdef SESAME_SENSITIVITY

class Parameter {
 public:
  // A machine file with more keys of durations and bandwidths than this ends the run (a CHECK).
  static constexpr uint8_t kMost = 200;

  constexpr Parameter() = default;  // "other"
  static Parameter of(std::string_view name);
  // By number; that of "other" is 0.
  static const std::vector<std::string>& names();
  explicit constexpr Parameter(uint8_t number) : number_(number) {}

  constexpr uint8_t number() const { return number_; }

 private:
  uint8_t number_ = 0;
};

#else

class Parameter {
 public:
  static constexpr Parameter of(std::string_view) { return {}; }
};

#endif

}  // namespace sesame
