#include "core/loader/shared_libraries.h"

#include <link.h>

#include <set>
#include <string>
#include <vector>

#include "core/loader/closure.h"
#include "core/loader/loader.h"
#include "core/loader/real.h"

namespace sesame::loader {
namespace {

std::set<std::string> g_known;
std::vector<std::string> g_opened;  // by shared libraries

// Opened by the C library for itself.
bool is_of_system(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() || is_always_shared(name) || name.starts_with("libnss_") ||
         path.find("/gconv/") != std::string::npos;
}

int visit_library(dl_phdr_info* info, size_t, void* who) {
  const std::string path = info->dlpi_name;
  const bool is_new = g_known.insert(path).second;
  if (is_new && *static_cast<OpenedBy*>(who) == OpenedBy::kSharedLibrary && !is_of_system(path))
    g_opened.push_back(path);
  return 0;
}

}  // namespace

void count_shared_libraries(OpenedBy who) { REAL(dl_iterate_phdr)(visit_library, &who); }

std::vector<std::string> libraries_opened_for_all_ranks() {
  count_shared_libraries(OpenedBy::kSharedLibrary);
  return g_opened;
}

}  // namespace sesame::loader
