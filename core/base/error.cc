#include "core/base/error.h"

namespace sesame {

std::string Error::to_string() const {
  std::string text;
  if (!path.empty()) {
    text += path;
    if (line > 0) text += ":" + std::to_string(line);
    text += ": ";
  }
  text += message;
  if (!hint.empty()) text += "\nhint: " + hint;
  return text;
}

}  // namespace sesame
