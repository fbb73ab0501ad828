#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sesame {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr,
               "%s:%d: internal error in Sesame: %s does not hold\n"
               "hint: please report this with the command that led to it\n",
               file, line, condition);
  std::abort();
}

}  // namespace sesame
