// The command line of a workload. Every rank reads its own copy; all come to the same result.
#ifndef WORKLOADS_KIT_ARGUMENTS_H_
#define WORKLOADS_KIT_ARGUMENTS_H_

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sesame::workload {

// What the person who started the program can put right. Thrown by all ranks alike: the program
// then prints it once and ends with status 2.
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

  // An option such as "--steps"; `value` holds the default and gets what is given.
  void add(const std::string& option, int& value, const std::string& meaning);
  void add(const std::string& option, long& value, const std::string& meaning);
  void add(const std::string& option, double& value, const std::string& meaning);
  void add(const std::string& option, std::string& value, const std::string& meaning);
  // Sizes such as 64KiB, in bytes; several have commas between them.
  void add_size(const std::string& option, long& value, const std::string& meaning);
  void add_sizes(const std::string& option, std::vector<long>& values, const std::string& meaning);
  // A switch without a value.
  void add(const std::string& option, bool& value, const std::string& meaning);

  // The text to print when help is asked for, else empty. Throws UsageError.
  std::string parse(int argc, char** argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace sesame::workload

#endif  // WORKLOADS_KIT_ARGUMENTS_H_
