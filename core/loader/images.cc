#include "core/loader/images.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "core/base/check.h"

namespace sesame::loader {
namespace {

constexpr uint64_t kPage = 4096;
uint64_t page_down(uint64_t address) { return address & ~(kPage - 1); }
uint64_t page_up(uint64_t address) { return page_down(address + kPage - 1); }

// Zero pages after the data up to this size share the template's mapping; longer ones get an
// anonymous mapping of their own, which faults faster and can use huge pages.
constexpr uint64_t kSmallBss = 64 * 1024;

int protection_of(const Elf64_Phdr& segment) {
  return ((segment.p_flags & PF_R) ? PROT_READ : 0) | ((segment.p_flags & PF_W) ? PROT_WRITE : 0) |
         ((segment.p_flags & PF_X) ? PROT_EXEC : 0);
}

// Read-only segments that are contiguous both in memory and in the file become one mapping. That
// makes constants executable, which is harmless here, and saves two mappings per rank.
void append_file_mapping(std::vector<ImageMapping>& mappings, const Elf64_Phdr& segment) {
  const uint64_t address = page_down(segment.p_vaddr);
  const uint64_t end = page_up(segment.p_vaddr + segment.p_filesz);
  const uint64_t offset = page_down(segment.p_offset);
  if (!mappings.empty()) {
    ImageMapping& last = mappings.back();
    if (last.source == ImageMapping::Source::kFile &&
        last.address - last.file_offset == address - offset &&
        address <= last.address + last.size + 512 * kPage) {
      last.size = std::max(last.size, end - last.address);
      last.protection |= protection_of(segment);
      return;
    }
  }
  mappings.push_back(
      {ImageMapping::Source::kFile, protection_of(segment), address, end - address, offset});
}

// `relocated_end` is where the last relocation of the file ends: COPY relocations lie in .bss.
void append_template_mapping(std::vector<ImageMapping>& mappings, const Elf64_Phdr& segment,
                             uint64_t relocated_end, uint64_t& template_size) {
  const uint64_t address = page_down(segment.p_vaddr);
  const uint64_t file_end = page_up(segment.p_vaddr + segment.p_filesz);
  const uint64_t memory_end = page_up(segment.p_vaddr + segment.p_memsz);
  const uint64_t data_end = std::max(file_end, std::min(page_up(relocated_end), memory_end));
  const uint64_t end = memory_end - data_end <= kSmallBss ? memory_end : data_end;
  const int protection = protection_of(segment) | PROT_READ | PROT_WRITE;
  ImageMapping* last = mappings.empty() ? nullptr : &mappings.back();
  if (last != nullptr && last->source == ImageMapping::Source::kTemplate &&
      address <= last->address + last->size) {  // adjoins, or shares a page
    const uint64_t merged_end = std::max(end, last->address + last->size);
    template_size += merged_end - (last->address + last->size);
    last->size = merged_end - last->address;
    last->protection |= protection;
  } else if (end > address) {
    mappings.push_back(
        {ImageMapping::Source::kTemplate, protection, address, end - address, template_size});
    template_size += end - address;
  }
  if (memory_end > end)
    mappings.push_back({ImageMapping::Source::kZero, protection, end, memory_end - end, 0});
}

Result<> make_template(Image& image, const std::vector<bool>& writable) {
  for (const ImageMapping& mapping : image.mappings)
    if (mapping.source == ImageMapping::Source::kTemplate) image.template_size += mapping.size;
  if (image.template_size == 0) return {};
  image.template_descriptor = memfd_create("sesame-template", MFD_CLOEXEC);
  if (image.template_descriptor < 0 ||
      ftruncate(image.template_descriptor, static_cast<off_t>(image.template_size)) != 0)
    return error(std::string("cannot make a template in memory: ") + strerror(errno));
  void* data = mmap(nullptr, image.template_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                    image.template_descriptor, 0);
  if (data == MAP_FAILED) return error(std::string("cannot map a template: ") + strerror(errno));
  image.template_data = static_cast<char*>(data);
  size_t index = 0;
  for (const Elf64_Phdr& segment : image.file.segments()) {
    if (segment.p_type != PT_LOAD || !writable[index++] || segment.p_filesz == 0) continue;
    char* place = image.template_at(segment.p_vaddr, segment.p_filesz);
    CHECK(place != nullptr);
    memcpy(place, image.file.at(segment.p_vaddr, segment.p_filesz), segment.p_filesz);
  }
  return {};
}

void append_spare(Image& image) {
  ImageMapping& last = image.mappings.back();
  image.spare = last.address + last.size;
  if (last.source == ImageMapping::Source::kTemplate) {
    last.size += kSpareBytes;
  } else {
    image.mappings.push_back(
        {ImageMapping::Source::kZero, PROT_READ | PROT_WRITE, image.spare, kSpareBytes, 0});
  }
}

void visit(ImageSet& set, ImageGroup& group, std::vector<bool>& visited, uint32_t index) {
  if (index < group.begin || index >= group.end || visited[index - group.begin]) return;
  visited[index - group.begin] = true;
  for (int next : set.images[index]->needed)
    visit(set, group, visited, static_cast<uint32_t>(next));
  group.start_order.push_back(index);
}

bool has_any_within(const std::vector<uint64_t>& sorted, uint64_t begin, uint64_t size) {
  const auto first = std::ranges::lower_bound(sorted, begin);
  return first != sorted.end() && *first - begin < size;
}

}  // namespace

Result<std::unique_ptr<Image>> open_image(const std::string& path, bool with_spare) {
  Result<ElfFile> file = ElfFile::open(path);
  if (!file) return std::unexpected(file.error());
  auto image = std::make_unique<Image>(std::move(*file));
  image->name = path.substr(path.rfind('/') + 1);
  const std::vector<bool> writable = find_writable_segments(image->file);
  image->mappings = plan_mappings(image->file, writable);
  if (image->mappings.empty()) return error("'" + path + "' has nothing to load");
  if (with_spare) append_spare(*image);
  image->begin = image->mappings.front().address;
  image->size = image->mappings.back().address + image->mappings.back().size - image->begin;
  const Elf64_Phdr* header = image->file.segment(PT_GNU_EH_FRAME);
  if (header != nullptr && image->file.is_loaded(header->p_vaddr, header->p_memsz))
    image->eh_frame_header = header->p_vaddr;
  if (Result<> made = make_template(*image, writable); !made) return std::unexpected(made.error());
  return image;
}

// One copy of each shared library serves all ranks. One that the simulator already uses (libc,
// libstdc++) is used for the program as well.
Result<> open_shared_libraries(const std::string& name, const std::vector<Library>& libraries) {
  for (const Library& library : libraries) {
    if (library.is_private) continue;
    if (dlopen(library.name.c_str(), RTLD_NOLOAD | RTLD_LAZY | RTLD_GLOBAL) != nullptr) continue;
    if (dlopen(library.path.c_str(), RTLD_LAZY | RTLD_GLOBAL) == nullptr)
      return error("cannot load a library of '" + name + "': " + dlerror());
  }
  return {};
}

void connect(ImageSet& set, ImageGroup& group, const std::map<std::string, uint32_t>& index_of) {
  for (uint32_t i = group.begin; i < group.end; ++i) {
    Image& image = *set.images[i];
    for (const std::string& name : image.file.needed())
      if (const auto entry = index_of.find(name); entry != index_of.end())
        image.needed.push_back(static_cast<int>(entry->second));
  }
  std::vector<bool> visited(group.end - group.begin);
  visited[0] = true;
  for (int next : set.images[group.begin]->needed)
    visit(set, group, visited, static_cast<uint32_t>(next));
  // Images that are reached only through shared libraries.
  for (uint32_t i = group.begin + 1; i < group.end; ++i) visit(set, group, visited, i);
  group.start_order.push_back(group.begin);
}

std::vector<bool> find_writable_segments(const ElfFile& file) {
  std::vector<bool> writable;
  std::vector<uint64_t> relocated;
  for (const Relocation& relocation : file.relocations()) relocated.push_back(relocation.offset);
  std::ranges::sort(relocated);
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    writable.push_back((segment.p_flags & PF_W) != 0 ||
                       has_any_within(relocated, segment.p_vaddr, segment.p_memsz));
  }
  return writable;
}

std::vector<ImageMapping> plan_mappings(const ElfFile& file, const std::vector<bool>& writable) {
  std::vector<ImageMapping> mappings;
  uint64_t template_size = 0, relocated_end = 0;
  for (const Relocation& relocation : file.relocations()) {
    const uint64_t size =
        relocation.type == R_X86_64_COPY && relocation.symbol < file.symbols().size()
            ? file.symbols()[relocation.symbol].st_size
            : sizeof(uint64_t);
    relocated_end = std::max(relocated_end, relocation.offset + size);
  }
  size_t index = 0;
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    const bool is_template = writable[index++];
    if (segment.p_memsz == 0) continue;
    if (is_template) {
      append_template_mapping(mappings, segment, relocated_end, template_size);
    } else {
      append_file_mapping(mappings, segment);
    }
  }
  return mappings;
}

Result<int> count_mappings(const Program& program) {
  std::vector<std::string> paths = {program.path};
  for (const Library& library : program.libraries)
    if (library.is_private) paths.push_back(library.path);
  int count = 0;
  bool has_block = false;
  for (const std::string& path : paths) {
    const Result<ElfFile> file = ElfFile::open(path);
    if (!file) return std::unexpected(file.error());
    const std::vector<ImageMapping> mappings = plan_mappings(*file, find_writable_segments(*file));
    count += static_cast<int>(mappings.size());
    has_block |= needs_thread_block(program, *file);
  }
  return count + (has_block ? 1 : 0);
}

Image::~Image() {
  if (template_data != nullptr) munmap(template_data, template_size);
  if (template_descriptor >= 0) close(template_descriptor);
}

char* Image::template_at(uint64_t address, uint64_t bytes) {
  for (const ImageMapping& mapping : mappings) {
    if (mapping.source != ImageMapping::Source::kTemplate || address < mapping.address) continue;
    const uint64_t offset = address - mapping.address;
    if (offset < mapping.size && bytes <= mapping.size - offset)
      return template_data + mapping.file_offset + offset;
  }
  return nullptr;
}

Result<uint64_t> map_image(const Image& image) {
  const auto failed = [&] {
    const int reason = errno;
    return error("cannot map a copy of '" + image.name + "': " + strerror(reason),
                 reason == ENOMEM ? "raise the limits: sysctl vm.max_map_count, ulimit -v" : "");
  };
  char* base = nullptr;
  for (size_t i = 0; i < image.mappings.size(); ++i) {
    const ImageMapping& mapping = image.mappings[i];
    // The first mapping reserves the whole span. It stays in the gaps, which no code refers to.
    const bool is_first = i == 0;
    const bool is_zero = mapping.source == ImageMapping::Source::kZero;
    const int flags =
        MAP_PRIVATE | (is_zero ? MAP_ANONYMOUS | MAP_NORESERVE : 0) | (is_first ? 0 : MAP_FIXED);
    const int descriptor = is_zero ? -1
                           : mapping.source == ImageMapping::Source::kFile
                               ? image.file.descriptor()
                               : image.template_descriptor;
    void* at = is_first ? nullptr : base + (mapping.address - image.begin);
    void* mapped = mmap(at, is_first ? image.size : mapping.size, mapping.protection, flags,
                        descriptor, static_cast<off_t>(mapping.file_offset));
    if (mapped == MAP_FAILED) {
      const auto result = failed();
      if (base != nullptr) munmap(base, image.size);
      return result;
    }
    if (is_first) base = static_cast<char*>(mapped);
  }
  return reinterpret_cast<uint64_t>(base) - image.begin;
}

}  // namespace sesame::loader
