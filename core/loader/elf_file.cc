#include "core/loader/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sesame::loader {
namespace {

std::unexpected<Error> damaged(const std::string& path, const char* what) {
  return error("'" + path + "' is a damaged ELF file: " + what);
}

}  // namespace

Result<ElfFile> ElfFile::open(const std::string& path) {
  ElfFile file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.descriptor_ < 0) return error("cannot read '" + path + "': " + strerror(errno));
  struct stat status;
  if (fstat(file.descriptor_, &status) != 0 || !S_ISREG(status.st_mode))
    return error("'" + path + "' is not a file");
  file.size_ = static_cast<uint64_t>(status.st_size);
  if (file.size_ < sizeof(Elf64_Ehdr)) return error("'" + path + "' is not an ELF executable");
  void* data = mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
  if (data == MAP_FAILED) return error("cannot map '" + path + "': " + strerror(errno));
  file.data_ = static_cast<const char*>(data);
  if (memcmp(file.data_, ELFMAG, SELFMAG) != 0)
    return error("'" + path + "' is not an ELF executable");
  if (file.data_[EI_CLASS] != ELFCLASS64)
    return error("'" + path + "' is a 32-bit program, expected 64-bit x86-64",
                 "rebuild it for x86-64");
  if (file.data_[EI_DATA] != ELFDATA2LSB || file.header().e_machine != EM_X86_64)
    return error("'" + path + "' is built for another processor, expected x86-64",
                 "rebuild it for x86-64");
  if (Result<> tables = file.read_tables(); !tables) return std::unexpected(tables.error());
  return file;
}

ElfFile::~ElfFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  if (descriptor_ >= 0) close(descriptor_);
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      segments_(other.segments_),
      dynamic_(other.dynamic_),
      symbols_(other.symbols_),
      strings_(other.strings_),
      strings_size_(other.strings_size_),
      version_indices_(other.version_indices_),
      needed_versions_(std::move(other.needed_versions_)),
      definitions_(std::move(other.definitions_)),
      full_symbols_(other.full_symbols_),
      full_strings_(other.full_strings_) {}

const char* ElfFile::at(uint64_t address, uint64_t size) const {
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    const uint64_t offset = address - segment.p_vaddr;
    if (offset < segment.p_filesz && size <= segment.p_filesz - offset)
      return data_ + segment.p_offset + offset;
  }
  return nullptr;
}

const Elf64_Phdr* ElfFile::segment(uint32_t type) const {
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == type) return &segment;
  return nullptr;
}

std::string ElfFile::interpreter() const {
  const Elf64_Phdr* segment = this->segment(PT_INTERP);
  if (segment == nullptr || segment->p_filesz == 0) return {};
  return std::string(data_ + segment->p_offset,
                     strnlen(data_ + segment->p_offset, segment->p_filesz));
}

Result<> ElfFile::read_tables() {
  const Elf64_Ehdr& header = this->header();
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > size_ ||
      header.e_phoff % alignof(Elf64_Phdr) != 0 ||
      header.e_phnum > (size_ - header.e_phoff) / sizeof(Elf64_Phdr))
    return damaged(path_, "its program headers lie outside the file");
  segments_ = {reinterpret_cast<const Elf64_Phdr*>(data_ + header.e_phoff), header.e_phnum};
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_filesz > size_ || segment.p_offset > size_ - segment.p_filesz)
      return damaged(path_, "a segment lies outside the file");
    constexpr uint64_t kLargest = uint64_t{1} << 46;  // half of the address space
    if (segment.p_type == PT_LOAD && (segment.p_vaddr > kLargest || segment.p_memsz > kLargest ||
                                      segment.p_filesz > segment.p_memsz))
      return damaged(path_, "a segment has an impossible size");
  }
  if (Result<> result = read_dynamic(); !result) return result;
  if (dynamic_.empty()) return {};
  if (Result<> result = read_symbols(); !result) return result;
  read_versions();
  read_full_symbols();
  return {};
}

Result<> ElfFile::read_dynamic() {
  const Elf64_Phdr* segment = this->segment(PT_DYNAMIC);
  if (segment == nullptr) return {};
  const auto* entries = reinterpret_cast<const Elf64_Dyn*>(data_ + segment->p_offset);
  size_t count = 0;
  while (count < segment->p_filesz / sizeof(Elf64_Dyn) && entries[count].d_tag != DT_NULL) ++count;
  dynamic_ = {entries, count};
  return {};
}

std::optional<uint64_t> ElfFile::dynamic(int64_t tag) const {
  for (const Elf64_Dyn& entry : dynamic_)
    if (entry.d_tag == tag) return entry.d_un.d_val;
  return std::nullopt;
}

std::vector<std::string> ElfFile::needed() const {
  std::vector<std::string> names;
  for (const Elf64_Dyn& entry : dynamic_)
    if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < strings_size_)
      names.emplace_back(strings_ + entry.d_un.d_val);
  return names;
}

std::string ElfFile::soname() const {
  const std::optional<uint64_t> offset = dynamic(DT_SONAME);
  return offset && *offset < strings_size_ ? std::string(strings_ + *offset) : std::string();
}

uint32_t ElfFile::count_symbols() const {
  if (auto table = dynamic(DT_HASH)) {
    const char* words = at(*table, 8);
    return words == nullptr ? 0 : reinterpret_cast<const uint32_t*>(words)[1];
  }
  const auto table = dynamic(DT_GNU_HASH);
  if (!table) return 0;
  const char* start = at(*table, 16);
  if (start == nullptr) return 0;
  const auto* words = reinterpret_cast<const uint32_t*>(start);
  const uint32_t bucket_count = words[0], first = words[1], bloom_words = words[2];
  const uint64_t buckets_at = *table + 16 + uint64_t{8} * bloom_words;
  const auto* buckets =
      reinterpret_cast<const uint32_t*>(at(buckets_at, uint64_t{4} * bucket_count));
  if (buckets == nullptr) return 0;
  uint32_t last = 0;
  for (uint32_t i = 0; i < bucket_count; ++i) last = std::max(last, buckets[i]);
  if (last < first) return first;
  // The chain of the last bucket ends with an odd word.
  const uint64_t chains_at = buckets_at + uint64_t{4} * bucket_count;
  for (;; ++last) {
    const auto* word =
        reinterpret_cast<const uint32_t*>(at(chains_at + uint64_t{4} * (last - first), 4));
    if (word == nullptr) return 0;
    if (*word & 1) return last + 1;
  }
}

Result<> ElfFile::read_symbols() {
  const auto strings = dynamic(DT_STRTAB), strings_size = dynamic(DT_STRSZ);
  if (!strings || !strings_size) return {};
  strings_ = at(*strings, *strings_size);
  strings_size_ = *strings_size;
  if (strings_ == nullptr || strings_size_ == 0 || strings_[strings_size_ - 1] != '\0')
    return damaged(path_, "its string table lies outside the file");
  const auto table = dynamic(DT_SYMTAB);
  if (!table) return {};
  const uint64_t count = count_symbols();
  const char* symbols = at(*table, count * sizeof(Elf64_Sym));
  if (symbols == nullptr) return damaged(path_, "its symbol table lies outside the file");
  symbols_ = {reinterpret_cast<const Elf64_Sym*>(symbols), count};
  for (const Elf64_Sym& symbol : symbols_)
    if (symbol.st_name >= strings_size_) return damaged(path_, "a symbol has no name");
  return {};
}

void ElfFile::read_versions() {
  if (auto table = dynamic(DT_VERSYM))
    version_indices_ =
        reinterpret_cast<const uint16_t*>(at(*table, symbols_.size() * sizeof(uint16_t)));
  const auto needs = dynamic(DT_VERNEED);
  const uint64_t count = dynamic(DT_VERNEEDNUM).value_or(0);
  uint64_t need_at = needs.value_or(0);
  for (uint64_t i = 0; needs && i < count; ++i) {
    const auto* need = reinterpret_cast<const Elf64_Verneed*>(at(need_at, sizeof(Elf64_Verneed)));
    if (need == nullptr) break;
    uint64_t version_at = need_at + need->vn_aux;
    for (unsigned j = 0; j < need->vn_cnt; ++j) {
      const auto* version =
          reinterpret_cast<const Elf64_Vernaux*>(at(version_at, sizeof(Elf64_Vernaux)));
      if (version == nullptr) break;
      if (version->vna_name < strings_size_)
        needed_versions_[version->vna_other & 0x7fff] = strings_ + version->vna_name;
      version_at += version->vna_next;
    }
    need_at += need->vn_next;
  }
  for (uint32_t i = 1; i < symbols_.size(); ++i) {
    const Elf64_Sym& symbol = symbols_[i];
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    const unsigned visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    if (symbol.st_shndx == SHN_UNDEF || binding == STB_LOCAL) continue;
    if (visibility == STV_HIDDEN || visibility == STV_INTERNAL) continue;
    const bool is_default = version_indices_ == nullptr || (version_indices_[i] & 0x8000) == 0;
    auto [entry, is_new] = definitions_.try_emplace(name_of(symbol), i);
    if (!is_new && is_default) entry->second = i;
  }
}

std::string_view ElfFile::version_of(uint32_t symbol) const {
  if (version_indices_ == nullptr || symbol >= symbols_.size()) return {};
  const auto entry = needed_versions_.find(version_indices_[symbol] & 0x7fff);
  return entry == needed_versions_.end() ? std::string_view() : std::string_view(entry->second);
}

const Elf64_Sym* ElfFile::find(std::string_view name) const {
  const auto entry = definitions_.find(name);
  return entry == definitions_.end() ? nullptr : &symbols_[entry->second];
}

bool ElfFile::append_table(std::vector<Relocation>& out, int64_t table_tag,
                           int64_t size_tag) const {
  const auto table = dynamic(table_tag), size = dynamic(size_tag);
  if (!table || !size || *size == 0) return true;
  const auto* entries = reinterpret_cast<const Elf64_Rela*>(at(*table, *size));
  if (entries == nullptr) return false;
  for (uint64_t i = 0; i < *size / sizeof(Elf64_Rela); ++i)
    out.push_back({entries[i].r_offset, static_cast<uint32_t>(ELF64_R_TYPE(entries[i].r_info)),
                   static_cast<uint32_t>(ELF64_R_SYM(entries[i].r_info)), entries[i].r_addend});
  return true;
}

// DT_RELR: an even word is the address of one word to relocate; an odd word is a bitmap of the 63
// words after the last address.
void ElfFile::append_relative_table(std::vector<Relocation>& out) const {
  constexpr int64_t kRelr = 36, kRelrSize = 35;  // DT_RELR, DT_RELRSZ; not in every <elf.h>
  const auto table = dynamic(kRelr), size = dynamic(kRelrSize);
  const auto* words =
      table && size ? reinterpret_cast<const uint64_t*>(at(*table, *size)) : nullptr;
  if (words == nullptr) return;
  const auto append = [&](uint64_t address) {
    const char* place = at(address, sizeof(int64_t));
    int64_t addend = 0;
    if (place != nullptr) memcpy(&addend, place, sizeof addend);
    out.push_back({address, R_X86_64_RELATIVE, 0, addend});
  };
  uint64_t next = 0;
  for (uint64_t i = 0; i < *size / sizeof(uint64_t); ++i) {
    if ((words[i] & 1) == 0) {
      append(words[i]);
      next = words[i] + 8;
      continue;
    }
    for (int bit = 1; bit < 64; ++bit)
      if (words[i] >> bit & 1) append(next + 8 * static_cast<uint64_t>(bit - 1));
    next += 63 * 8;
  }
}

std::vector<Relocation> ElfFile::relocations() const {
  std::vector<Relocation> all;
  append_relative_table(all);
  append_table(all, DT_RELA, DT_RELASZ);
  append_table(all, DT_JMPREL, DT_PLTRELSZ);
  return all;
}

void ElfFile::read_full_symbols() {
  const Elf64_Ehdr& header = this->header();
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > size_ ||
      header.e_shnum > (size_ - header.e_shoff) / sizeof(Elf64_Shdr))
    return;
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(data_ + header.e_shoff);
  const auto inside = [&](const Elf64_Shdr& section) {
    return section.sh_size <= size_ && section.sh_offset <= size_ - section.sh_size;
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr& section = sections[i];
    if (section.sh_type != SHT_SYMTAB || !inside(section) || section.sh_link >= header.e_shnum)
      continue;
    const Elf64_Shdr& strings = sections[section.sh_link];
    if (!inside(strings) || strings.sh_size == 0) continue;
    if (data_[strings.sh_offset + strings.sh_size - 1] != '\0') continue;
    const std::span<const Elf64_Sym> symbols(
        reinterpret_cast<const Elf64_Sym*>(data_ + section.sh_offset),
        section.sh_size / sizeof(Elf64_Sym));
    for (const Elf64_Sym& symbol : symbols)
      if (symbol.st_name >= strings.sh_size) return;
    full_symbols_ = symbols;
    full_strings_ = data_ + strings.sh_offset;
  }
}

const char* ElfFile::nearest_function(uint64_t address, uint64_t* offset) const {
  const bool stripped = full_symbols_.empty();
  const std::span<const Elf64_Sym> symbols = stripped ? symbols_ : full_symbols_;
  const char* strings = stripped ? strings_ : full_strings_;
  for (const Elf64_Sym& symbol : symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (address < symbol.st_value || address >= symbol.st_value + symbol.st_size) continue;
    *offset = address - symbol.st_value;
    return strings + symbol.st_name;
  }
  return nullptr;
}

}  // namespace sesame::loader
