// The command line of a workload. Every rank parses its own copy, with the same result.
//
//   Arguments arguments("cg", "smallest eigenvalue of a sparse matrix");
//   int steps = 100;
//   arguments.add("--steps", steps, "iterations");
//   const std::string help = arguments.parse(argc, argv);
#ifndef WORKLOADS_KIT_ARGUMENTS_H_
#define WORKLOADS_KIT_ARGUMENTS_H_

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sesame::workload {

// An error that the user can correct: a wrong option or input. All ranks must throw it; the program
// prints it once and exits with status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Arguments {
 public:
  Arguments(const std::string& name, const std::string& purpose);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // Adds an option such as "--steps". `value` holds the default, is set by parse() and must outlive
  // this object. `meaning` is the option's line in the help.
  void add(const std::string& option, int& value, const std::string& meaning);
  void add(const std::string& option, long& value, const std::string& meaning);
  void add(const std::string& option, double& value, const std::string& meaning);
  void add(const std::string& option, std::string& value, const std::string& meaning);
  // Sizes such as 64KiB, in bytes; a list is separated by commas.
  void add_size(const std::string& option, long& value, const std::string& meaning);
  void add_sizes(const std::string& option, std::vector<long>& values, const std::string& meaning);
  // A switch without a value.
  void add(const std::string& option, bool& value, const std::string& meaning);

  // Sets the values. Returns the help text if --help was given, else an empty string. Throws
  // UsageError for unknown options and invalid values.
  std::string parse(int argc, char** argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_ARGUMENTS_H_
