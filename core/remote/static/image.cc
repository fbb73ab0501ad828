#include "core/remote/static/image.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sesame::remote {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t page_of(uint64_t address) { return address & ~(kPage - 1); }
uint64_t next_page(uint64_t address) { return page_of(address + kPage - 1); }

int protection_of(const Elf64_Phdr& segment) {
  return ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) |
         ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
}

std::unexpected<Error> cannot_map(const std::string& path) {
  return error("cannot map '" + path + "' at its addresses: " + strerror(errno));
}

// Reserves [address, address + size), or as many bytes anywhere if the address is 0. MAP_FAILED:
// not possible.
void* reserve(uint64_t address, uint64_t size) {
  const int fixed = address == 0 ? 0 : MAP_FIXED_NOREPLACE;
  return mmap(reinterpret_cast<void*>(address), size, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

}  // namespace

Result<StaticImage> StaticImage::map(const loader::ElfFile& file, uint64_t space) {
  uint64_t begin = UINT64_MAX, end = 0, alignment = kPage;
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, page_of(segment.p_vaddr));
    end = std::max(end, next_page(segment.p_vaddr + segment.p_memsz));
    alignment = std::max<uint64_t>(alignment, segment.p_align);
  }
  StaticImage image(file);
  image.space_ = next_page(space);
  if (begin >= end) return error("'" + file.path() + "' is a damaged ELF file: it has no segment");
  if (!image.has(file.header().e_entry, 1, PF_X))
    return error("'" + file.path() + "' is a damaged ELF file: its entry point is not code");
  const bool is_fixed = file.header().e_type == ET_EXEC;
  const uint64_t size = end - begin + image.space_ + (is_fixed ? 0 : alignment);
  void* const memory = reserve(is_fixed ? begin : 0, size);
  if (memory == MAP_FAILED) return cannot_map(file.path());
  const auto address = reinterpret_cast<uint64_t>(memory);
  if (!is_fixed) image.base_ = ((address + alignment - 1) & ~(alignment - 1)) - begin;
  image.end_ = image.base_ + end;
  image.entry_ = image.at(file.header().e_entry);
  if (auto mapped = image.map_segments(); !mapped) return std::unexpected(mapped.error());
  return image;
}

bool StaticImage::has(uint64_t address, uint64_t size, uint32_t flags) const {
  return std::ranges::any_of(file_->segments(), [&](const Elf64_Phdr& segment) {
    const uint64_t offset = address - segment.p_vaddr;
    return segment.p_type == PT_LOAD && (segment.p_flags & flags) == flags &&
           address >= segment.p_vaddr && offset <= segment.p_memsz &&
           size <= segment.p_memsz - offset;
  });
}

// Each is writable until protect(). Beyond the bytes of the file it is zero.
Result<> StaticImage::map_segments() const {
  for (const Elf64_Phdr& segment : file_->segments()) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    const uint64_t begin = page_of(base_ + segment.p_vaddr);
    const uint64_t end = next_page(base_ + segment.p_vaddr + segment.p_memsz);
    const uint64_t file_end = base_ + segment.p_vaddr + segment.p_filesz;
    const int flags = MAP_PRIVATE | MAP_FIXED;
    if (mmap(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE,
             flags | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
      return cannot_map(file_->path());
    if (segment.p_filesz == 0) continue;
    if (mmap(reinterpret_cast<void*>(begin), file_end - begin, PROT_READ | PROT_WRITE, flags,
             file_->descriptor(), static_cast<off_t>(page_of(segment.p_offset))) == MAP_FAILED)
      return cannot_map(file_->path());
    const uint64_t rest = std::min(next_page(file_end), end) - file_end;
    if ((segment.p_flags & PF_W) != 0) memset(reinterpret_cast<void*>(file_end), 0, rest);
  }
  if (mprotect(space(), space_, PROT_READ | PROT_WRITE) != 0) return cannot_map(file_->path());
  return {};
}

Result<> StaticImage::protect() const {
  for (const Elf64_Phdr& segment : file_->segments()) {
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    const uint64_t begin = page_of(base_ + segment.p_vaddr);
    const uint64_t end = next_page(base_ + segment.p_vaddr + segment.p_memsz);
    if (mprotect(reinterpret_cast<void*>(begin), end - begin, protection_of(segment)) != 0)
      return cannot_map(file_->path());
  }
  if (mprotect(space(), space_, PROT_READ | PROT_EXEC) != 0) return cannot_map(file_->path());
  return {};
}

std::vector<uint64_t> StaticImage::initial_stack(char** arguments, char** environment,
                                                 const std::vector<Elf64_auxv_t>& auxiliary,
                                                 const std::string& path) const {
  std::vector<uint64_t> words{0};
  const auto put = [&words](const void* pointer) {
    words.push_back(reinterpret_cast<uint64_t>(pointer));
  };
  for (; *arguments != nullptr; ++arguments) put(*arguments);
  words[0] = words.size() - 1;
  put(nullptr);
  for (; *environment != nullptr; ++environment) put(*environment);
  put(nullptr);
  const Elf64_Ehdr& header = file_->header();
  for (const Elf64_auxv_t& entry : auxiliary) {
    // Clocks without a system call would show the host's time.
    if (entry.a_type == AT_SYSINFO_EHDR || entry.a_type == AT_SYSINFO) continue;
    uint64_t value = entry.a_un.a_val;
    if (entry.a_type == AT_PHDR) {
      value = base_;
      for (const Elf64_Phdr& segment : file_->segments())
        if (segment.p_type == PT_LOAD && header.e_phoff >= segment.p_offset &&
            header.e_phoff - segment.p_offset < segment.p_filesz)
          value = base_ + segment.p_vaddr + header.e_phoff - segment.p_offset;
    }
    if (entry.a_type == AT_PHNUM) value = header.e_phnum;
    if (entry.a_type == AT_PHENT) value = header.e_phentsize;
    if (entry.a_type == AT_BASE) value = 0;
    if (entry.a_type == AT_ENTRY) value = reinterpret_cast<uint64_t>(entry_);
    if (entry.a_type == AT_EXECFN) value = reinterpret_cast<uint64_t>(path.c_str());
    words.push_back(entry.a_type);
    words.push_back(value);
  }
  words.insert(words.end(), {AT_NULL, 0});
  return words;
}

void StaticImage::start(const std::vector<uint64_t>& stack, const void* at_exit) const {
  const size_t bytes = (stack.size() * sizeof(uint64_t) + 15) & ~size_t{15};
  auto* const top = static_cast<uint64_t*>(__builtin_alloca_with_align(bytes, 128));
  std::copy(stack.begin(), stack.end(), top);
  // The x86-64 psABI, 3.4.1: the stack pointer at argc, a function for exit() in %rdx, %rbp zero.
  __asm__ volatile(
      "movq %0, %%rsp\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "jmp *%1"
      :
      : "S"(top), "c"(entry_), "d"(at_exit)
      : "memory");
  __builtin_unreachable();
}

}  // namespace sesame::remote
