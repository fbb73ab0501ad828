// Numbers of processes as text: 0-7, or with a step 0-14:2,1,3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sesame::postprocess {

std::string ranges_text(const std::vector<int32_t>& numbers);

}  // namespace sesame::postprocess
