#include "kit/report.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

namespace sesame::workload {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;  // of the JSON object

template <typename Variant>
Json to_json(const Variant& variant) {
  return std::visit([](const auto& value) { return Json(value); }, variant);
}

template <typename Variant>
std::string to_text(const Variant& variant) {
  const Json value = to_json(variant);
  if (value.is_string()) return value.template get<std::string>();
  if (value.is_number_integer()) return std::to_string(value.template get<std::int64_t>());
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value.template get<double>());
  return text;
}

Json verdict_json(Report::Verdict verdict) {
  if (verdict == Report::Verdict::kNotVerifiable) return nullptr;
  return verdict == Report::Verdict::kVerified;
}

}  // namespace

void Report::parameter(const std::string& name, long value) {
  parameters_.push_back({name, std::int64_t{value}});
}

void Report::parameter(const std::string& name, double value) {
  parameters_.push_back({name, value});
}

void Report::parameter(const std::string& name, const std::string& value) {
  parameters_.push_back({name, value});
}

void Report::figure(const std::string& name, double value, const std::string& unit) {
  figures_.push_back({name, value, unit});
}

void Report::rate(double operations) {
  if (time_s_ > 0) figure("rate", operations / time_s_ * 1e-6, "Mop/s");
}

void Report::check(const std::string& name, double value, double expected, double tolerance) {
  const double difference = std::abs(value - expected);
  const double error = expected == 0 ? difference : difference / std::abs(expected);
  // A value that is not a number compares as wrong.
  checks_.push_back({name, value, expected, error, tolerance, error <= tolerance});
}

void Report::check_exact(const std::string& name, std::int64_t value, std::int64_t expected) {
  const double difference = static_cast<double>(value) - static_cast<double>(expected);
  const double error = std::abs(difference) / std::max(1.0, std::abs(double(expected)));
  checks_.push_back({name, value, expected, error, 0, value == expected});
}

void Report::not_verifiable(const std::string& reason) { why_not_verifiable_ = reason; }

void Report::column(const std::string& table, const std::string& column, const std::string& unit,
                    std::vector<double> values) {
  columns_.push_back({table, column, unit, std::move(values)});
}

void Report::column(const std::string& table, const std::string& column, const std::string& unit,
                    std::vector<std::string> values) {
  columns_.push_back({table, column, unit, std::move(values)});
}

Report::Verdict Report::verdict() const {
  const bool wrong =
      std::any_of(checks_.begin(), checks_.end(), [](const Check& check) { return !check.right; });
  if (wrong) return Verdict::kWrong;
  const bool verifiable = !checks_.empty() && why_not_verifiable_.empty();
  return verifiable ? Verdict::kVerified : Verdict::kNotVerifiable;
}

void Report::print() const {
  std::printf("%s on %d rank%s", name_.c_str(), ranks_, ranks_ == 1 ? "" : "s");
  for (const Parameter& parameter : parameters_) {
    std::printf(", %s %s", parameter.name.c_str(), to_text(parameter.value).c_str());
  }
  std::printf("\n  %-28s %.6g s\n", "time", time_s_);
  for (const Figure& figure : figures_) {
    std::printf("  %-28s %.6g %s\n", figure.name.c_str(), figure.value, figure.unit.c_str());
  }
  for (const Check& check : checks_) {
    std::printf("  %-28s %s, expected %s: %s\n", check.name.c_str(), to_text(check.value).c_str(),
                to_text(check.expected).c_str(), check.right ? "right" : "WRONG");
  }
  switch (verdict()) {
    case Verdict::kVerified:
      std::puts("verified");
      break;
    case Verdict::kWrong:
      std::puts("WRONG");
      break;
    case Verdict::kNotVerifiable:
      std::printf("not verified: %s\n", why_not_verifiable_.empty() ? "there is nothing to check"
                                                                    : why_not_verifiable_.c_str());
  }
  std::fflush(stdout);
}

std::string Report::json() const {
  Json whole = {{"workload", name_}, {"version", kVersion}, {"parameters", Json::object()}};
  for (const Parameter& parameter : parameters_) {
    whole["parameters"][parameter.name] = to_json(parameter.value);
  }
  whole["ranks"] = ranks_;
  whole["verified"] = verdict_json(verdict());
  if (!why_not_verifiable_.empty()) whole["why_not_verified"] = why_not_verifiable_;
  whole["time_s"] = time_s_;
  whole["figures"] = Json::array();
  for (const Figure& figure : figures_) {
    whole["figures"].push_back(
        {{"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}});
  }
  whole["checks"] = Json::array();
  for (const Check& check : checks_) {
    whole["checks"].push_back({{"name", check.name},
                               {"value", to_json(check.value)},
                               {"expected", to_json(check.expected)},
                               {"relative_error", check.relative_error},
                               {"tolerance", check.tolerance},
                               {"right", check.right}});
  }
  whole["tables"] = Json::object();
  for (const Column& column : columns_) {
    whole["tables"][column.table][column.name] = {{"unit", column.unit},
                                                  {"values", to_json(column.values)}};
  }
  return whole.dump(1) + "\n";
}

std::string Report::write(const std::string& file) const {
  const std::string draft = file + ".part";
  std::ofstream stream(draft, std::ios::binary);
  stream << json();
  stream.close();
  if (!stream || std::rename(draft.c_str(), file.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(draft.c_str());
    return "--report " + file + ": cannot write: " + reason;
  }
  return "";
}

}  // namespace sesame::workload
