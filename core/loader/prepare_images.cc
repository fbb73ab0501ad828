#include "core/loader/prepare_images.h"

#include <ios>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/loader/resolve.h"

namespace sesame::loader {

Result<std::unique_ptr<ImageSet>> prepare_images(const Program& program) {
  // std::cout and its kin are copied into the ranks' images: they must be alive by then.
  static std::ios_base::Init streams;
  if (Result<> opened = open_shared_libraries(program.name, program.libraries); !opened)
    return std::unexpected(opened.error());
  auto set = std::make_unique<ImageSet>();
  std::vector<std::string> paths = {program.path};
  std::map<std::string, uint32_t> index_of;
  for (const Library& library : program.libraries) {
    if (!library.is_private) continue;
    index_of[library.name] = static_cast<uint32_t>(paths.size());
    paths.push_back(library.path);
  }
  for (const std::string& path : paths) {
    Result<std::unique_ptr<Image>> image = open_image(path);
    if (!image) return std::unexpected(image.error());
    const Elf64_Phdr* stack = (*image)->file.segment(PT_GNU_STACK);
    set->executable_stack |= stack == nullptr || (stack->p_flags & PF_X) != 0;
    set->images.push_back(std::move(*image));
  }
  set->program.end = static_cast<uint32_t>(set->images.size());
  connect(*set, set->program, index_of);
  if (Result<> placed = place_thread_variables(*set, program); !placed)
    return std::unexpected(placed.error());
  std::vector<uint32_t> scope(set->program.end);
  std::iota(scope.begin(), scope.end(), 0);
  if (Result<> resolved = resolve(*set, program, set->program, scope); !resolved)
    return std::unexpected(resolved.error());
  set->images.push_back(nullptr);  // the block's
  return set;
}

}  // namespace sesame::loader
