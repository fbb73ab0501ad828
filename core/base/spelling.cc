#include "core/base/spelling.h"

namespace sesame {
namespace {

bool as_arguments = false;

}  // namespace

void spell_settings_as_arguments() { as_arguments = true; }

const char* spelled(const char* option, const char* argument) {
  return as_arguments ? argument : option;
}

}  // namespace sesame
