// The results of a workload: a summary on stdout, and one JSON object for `--report`. Every rank
// may fill in a report; only that of rank 0 is used. Times are in seconds.
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

  // An input of the run: class, grid, iterations.
  void parameter(const std::string& name, long value);
  void parameter(const std::string& name, double value);
  void parameter(const std::string& name, const std::string& value);

  // The measured time, s.
  void time(double seconds) { time_s_ = seconds; }

  // A result, such as figure("rate", 812.5, "Mop/s").
  void figure(const std::string& name, double value, const std::string& unit);

  // Adds the figure "rate" in Mop/s from the number of operations in the measured time. Call time()
  // first. A run without time (simulated without computation) has no rate.
  void rate(double operations);

  // Adds a check, right when |value - expected| <= tolerance * |expected|.
  void check(const std::string& name, double value, double expected, double tolerance);
  void check_exact(const std::string& name, std::int64_t value, std::int64_t expected);

  // States why there is no known answer to compare with. A failed check still counts.
  void not_verifiable(const std::string& reason);

  // A column of a table; all columns of a table have the same length.
  void column(const std::string& table, const std::string& column, const std::string& unit,
              std::vector<double> values);
  void column(const std::string& table, const std::string& column, const std::string& unit,
              std::vector<std::string> values);

  enum class Verdict { kVerified, kWrong, kNotVerifiable };
  Verdict verdict() const;

  // Prints the summary on stdout.
  void print() const;
  // Writes the JSON object to `file`, completely or not at all. Returns the error, empty for none.
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
