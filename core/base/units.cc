#include "core/base/units.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>

namespace sesame {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// The accepted names. The list in messages (k…Names) has only the usual ones.
constexpr Unit kDurationUnits[] = {{"s", 1e12},        {"ms", 1e9},
                                   {"us", 1e6},        {"\xc2\xb5s", 1e6},  // micro sign
                                   {"\xce\xbcs", 1e6},                      // Greek mu
                                   {"ns", 1e3},        {"ps", 1}};
constexpr char kDurationNames[] = "s, ms, us, ns or ps";

constexpr Unit kSizeUnits[] = {
    {"B", 1},     {"kB", 1e3},   {"KB", 1e3},      {"MB", 1e6},         {"GB", 1e9},
    {"TB", 1e12}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776},
    {"", 1}};
constexpr char kSizeNames[] = "B, kB, MB, GB, TB, KiB, MiB, GiB or TiB";

constexpr Unit kBandwidthUnits[] = {{"B/s", 1},          {"kB/s", 1e3},       {"KB/s", 1e3},
                                    {"MB/s", 1e6},       {"GB/s", 1e9},       {"TB/s", 1e12},
                                    {"KiB/s", 1024},     {"MiB/s", 1048576},  {"GiB/s", 1073741824},
                                    {"bit/s", 1.0 / 8},  {"kbit/s", 1e3 / 8}, {"Mbit/s", 1e6 / 8},
                                    {"Gbit/s", 1e9 / 8}, {"Tbit/s", 1e12 / 8}};
constexpr char kBandwidthNames[] = "B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s, Mbit/s or Gbit/s";

std::string_view trim(std::string_view text) {
  const char* const blanks = " \t";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// A kind of quantity for the parsers: its name, an example, its units.
struct Quantity {
  const char* kind;
  const char* example;
  const char* unit_names;
  std::span<const Unit> units;
};

std::unexpected<Error> misfit(const Quantity& quantity, std::string_view text,
                              std::string_view hint = {}) {
  return error(std::string("expected ") + quantity.kind + " such as \"" + quantity.example +
                   "\" (units: " + quantity.unit_names + "), got \"" + std::string(text) + "\"",
               std::string(hint));
}

// "100 Gb/s" is read as bits by some and as bytes by others, a factor of eight apart.
std::string_view unit_hint(std::string_view unit) {
  if (unit.ends_with("b/s") || unit.ends_with("bps")) {
    return "write Mbit/s or Gbit/s for bits, MB/s or GB/s for bytes";
  }
  if (unit.empty()) return "a unit is missing";
  return {};
}

// The quantity in ps, bytes or bytes per second, or what is wrong with the text.
Result<double> parse(const Quantity& quantity, std::string_view text) {
  const std::string_view body = trim(text);
  double number = 0;
  const auto [end, status] = std::from_chars(body.data(), body.data() + body.size(), number);
  if (status != std::errc() || !std::isfinite(number)) return misfit(quantity, text);
  if (std::signbit(number)) return misfit(quantity, text, "a negative value has no meaning here");
  const std::string_view unit = trim(body.substr(static_cast<size_t>(end - body.data())));
  for (const Unit& known : quantity.units) {
    if (known.name == unit) return number * known.factor;
  }
  return misfit(quantity, text, unit_hint(unit));
}

// Three significant digits of a value in [1, 1000).
std::string three_digits(double value) {
  char text[32];
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// The largest unit in which the rounded value is at least one. Units are listed from small to
// large, `step` apart.
std::string format_scaled(double value, double step, std::span<const char* const> units) {
  size_t unit = 0;
  while (unit + 1 < units.size() && value >= step * (1 - 0.5 / 1000)) {
    value /= step;
    ++unit;
  }
  return three_digits(value) + " " + units[unit];
}

}  // namespace

Result<SimTime> parse_duration(std::string_view text) {
  const Quantity quantity{"a duration", "1.5 us", kDurationNames, kDurationUnits};
  const auto ps = parse(quantity, text);
  if (!ps) return std::unexpected(ps.error());
  if (*ps >= 9.2e18) return misfit(quantity, text, "the longest duration is about 106 days");
  return SimTime::from_ps(std::llround(*ps));
}

Result<uint64_t> parse_size(std::string_view text) {
  const Quantity quantity{"a size", "64 KiB", kSizeNames, kSizeUnits};
  const auto bytes = parse(quantity, text);
  if (!bytes) return std::unexpected(bytes.error());
  if (*bytes >= 1.8e19) return misfit(quantity, text, "the size does not fit in 64 bits");
  if (*bytes != std::floor(*bytes)) return misfit(quantity, text, "not a whole number of bytes");
  return static_cast<uint64_t>(*bytes);
}

Result<double> parse_bandwidth(std::string_view text) {
  return parse({"a bandwidth", "28 MB/s", kBandwidthNames, kBandwidthUnits}, text);
}

std::string format_duration(SimTime duration) {
  if (duration == SimTime::never()) return "never";
  if (duration == SimTime::zero()) return "0 s";
  constexpr const char* kUnits[] = {"ps", "ns", "us", "ms", "s"};
  const double ps = static_cast<double>(duration.ps());
  if (std::abs(ps) >= 999.5e12) {  // no unit above the second: print whole seconds
    char text[32];
    std::snprintf(text, sizeof text, "%.0f s", ps * 1e-12);
    return text;
  }
  return (ps < 0 ? "-" : "") + format_scaled(std::abs(ps), 1000, kUnits);
}

std::string format_size(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  uint64_t whole = bytes;
  while (whole != 0 && whole % 1024 == 0) {
    whole /= 1024;
    ++unit;
  }
  // Exact multiples keep all their digits: a size that was written as 64 KiB reads back as that.
  if (whole < 1024) return std::to_string(whole) + " " + kUnits[unit];
  return format_scaled(static_cast<double>(bytes), 1024, kUnits);
}

}  // namespace sesame
