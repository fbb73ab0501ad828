// A workload whose answer is chosen: --value against 2, or nothing to compare with.
#include <limits>

#include "kit/program.h"

int main(int argc, char** argv) {
  sesame::workload::Program program("verdicts", "an answer of the caller's choice");
  double value = 2;
  long count = 7;
  bool unknown = false, undefined = false;
  program.arguments().add("--value", value, "the answer");
  program.arguments().add("--count", count, "a whole number, 7 expected");
  program.arguments().add("--unknown", unknown, "there is nothing to compare with");
  program.arguments().add("--undefined", undefined, "the answer is not a number");
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    report.parameter("value", value);
    report.time(0.5);
    report.rate(1e6);
    report.column("squares", "n", "", {1.0, 2.0, 3.0});
    report.column("squares", "square", "m", {1.0, 4.0, 9.0});
    if (undefined) value = std::numeric_limits<double>::quiet_NaN();
    if (unknown) {
      report.not_verifiable("no answer is known");
    } else {
      report.check("value", value, 2, 1e-3);
      report.check_exact("count", count, 7);
    }
  });
}
