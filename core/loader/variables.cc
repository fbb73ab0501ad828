#include "core/loader/variables.h"

namespace sesame::loader {

Variable variable_named(std::string_view symbol) {
  struct Name {
    std::string_view symbol;
    Variable variable;
  };
  static constexpr Name kNames[] = {
      {"stdin", Variable::kStdin},
      {"stdout", Variable::kStdout},
      {"stderr", Variable::kStderr},
      {"environ", Variable::kEnviron},
      {"__environ", Variable::kEnviron},
      {"_environ", Variable::kEnviron},
      {"optarg", Variable::kOptarg},
      {"optind", Variable::kOptind},
      {"opterr", Variable::kOpterr},
      {"optopt", Variable::kOptopt},
      {"program_invocation_name", Variable::kProgramName},
      {"__progname_full", Variable::kProgramName},
      {"program_invocation_short_name", Variable::kProgramShortName},
      {"__progname", Variable::kProgramShortName},
      {"signgam", Variable::kSignOfGamma},
      {"__signgam", Variable::kSignOfGamma},
  };
  for (const Name& name : kNames)
    if (name.symbol == symbol) return name.variable;
  return Variable::kCount;
}

}  // namespace sesame::loader
