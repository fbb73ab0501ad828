// What a workload says when it is over: a summary for people, and one JSON object for `--report`.
// Every rank may fill in a report; that of rank 0 counts. Times are in seconds.
#ifndef WORKLOADS_KIT_REPORT_H_
#define WORKLOADS_KIT_REPORT_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace sesame::workload {

class Report {
 public:
  Report(std::string name, int ranks) : name_(std::move(name)), ranks_(ranks) {}

  // What the run was asked to do: class, grid, iterations.
  void parameter(const std::string& name, long value);
  void parameter(const std::string& name, double value);
  void parameter(const std::string& name, const std::string& value);

  // The time of the part that is measured.
  void time(double seconds) { time_s_ = seconds; }

  // A result, such as figure("rate", 812.5, "Mop/s").
  void figure(const std::string& name, double value, const std::string& unit);

  // The figure "rate" from the operations of the measured part, in Mop/s. Call time() first. A run
  // that took no time, as one may whose computation is not simulated, has no rate.
  void rate(double operations);

  // Right when |value - expected| <= tolerance * |expected|.
  void check(const std::string& name, double value, double expected, double tolerance);
  void check_exact(const std::string& name, std::int64_t value, std::int64_t expected);

  // There is no answer to compare with; says why. A check that failed still counts.
  void not_verifiable(const std::string& reason);

  // A column of a table; all columns of a table have the same length.
  void column(const std::string& table, const std::string& column, const std::string& unit,
              std::vector<double> values);
  void column(const std::string& table, const std::string& column, const std::string& unit,
              std::vector<std::string> values);

  enum class Verdict { kVerified, kWrong, kNotVerifiable };
  Verdict verdict() const;

  // For people, on stdout.
  void print() const;
  // The JSON object, whole or not at all. Empty, or what went wrong.
  std::string write(const std::string& file) const;

 private:
  struct Parameter {
    std::string name;
    std::variant<std::int64_t, double, std::string> value;
  };
  struct Figure {
    std::string name;
    double value;
    std::string unit;
  };
  struct Check {
    std::string name;
    std::variant<std::int64_t, double> value, expected;
    double relative_error, tolerance;
    bool right;
  };
  struct Column {
    std::string table, name, unit;
    std::variant<std::vector<double>, std::vector<std::string>> values;
  };

  std::string json() const;

  std::string name_;
  int ranks_;
  double time_s_ = 0;
  std::string why_not_verifiable_;
  std::vector<Parameter> parameters_;
  std::vector<Figure> figures_;
  std::vector<Check> checks_;
  std::vector<Column> columns_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_REPORT_H_
