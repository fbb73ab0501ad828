#include "core/postprocess/ranges_text.h"

namespace sesame::postprocess {

// Runs of at least three numbers with one step are written as a range.
std::string ranges_text(const std::vector<int32_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    int64_t step = end < numbers.size() ? int64_t{numbers[end]} - numbers[i] : 0;
    while (end < numbers.size() && step > 0 && numbers[end] - numbers[end - 1] == step) ++end;
    if (end - i < 3 && !(end - i == 2 && step == 1)) end = i + 1;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (end - i > 1) {
      text += '-' + std::to_string(numbers[end - 1]);
      if (step > 1) text += ':' + std::to_string(step);
    }
    i = end;
  }
  return text;
}

}  // namespace sesame::postprocess
