// The tables that the dynamic section points to: symbols, versions, relocations. The sizes that
// they state are checked. No count exceeds what the file can hold. A chain ends with the file at
// the latest. All names together are at most a small multiple of the file's size.
#include <algorithm>
#include <cstring>

#include "core/loader/elf_file.h"

namespace sesame::loader {

uint32_t ElfFile::count_symbols() const {
  if (auto table = dynamic(DT_HASH)) {
    const auto* words = table_at<uint32_t>(*table, 2);
    return words == nullptr ? 0 : words[1];
  }
  const auto table = dynamic(DT_GNU_HASH);
  if (!table) return 0;
  const auto* words = table_at<uint32_t>(*table, 4);
  if (words == nullptr) return 0;
  const uint32_t bucket_count = words[0], first = words[1], bloom_words = words[2];
  const uint64_t buckets_at = *table + 16 + uint64_t{8} * bloom_words;
  const auto* buckets = table_at<uint32_t>(buckets_at, bucket_count);
  if (buckets == nullptr) return 0;
  uint32_t last = 0;
  for (uint32_t i = 0; i < bucket_count; ++i) last = std::max(last, buckets[i]);
  if (last < first) return first;
  // The chain of the last bucket ends with an odd word.
  const uint64_t chains_at = buckets_at + uint64_t{4} * bucket_count;
  for (;; ++last) {
    const auto* word = table_at<uint32_t>(chains_at + uint64_t{4} * (last - first), 1);
    if (word == nullptr) return 0;
    if (*word & 1) return last + 1;
  }
}

Result<> ElfFile::read_symbols() {
  const auto strings = dynamic(DT_STRTAB), strings_size = dynamic(DT_STRSZ);
  if (!strings || !strings_size) {
    if (relocations_.empty()) return {};
    return damaged("it has no string table");
  }
  strings_ = at(*strings, *strings_size);
  strings_size_ = *strings_size;
  if (strings_ == nullptr || strings_size_ == 0 || strings_[strings_size_ - 1] != '\0')
    return damaged("its string table lies outside the file");
  uint64_t count = count_symbols();
  for (const Relocation& relocation : relocations_)
    count = std::max(count, uint64_t{relocation.symbol} + 1);
  const auto table = dynamic(DT_SYMTAB);
  if (!table) return {};
  const auto* symbols = table_at<Elf64_Sym>(*table, count);
  if (symbols == nullptr) return damaged("its symbol table lies outside the file");
  symbols_ = {symbols, count};
  for (const Elf64_Sym& symbol : symbols_)
    if (symbol.st_name >= strings_size_) return damaged("a symbol has no name");
  return {};
}

// Chains end with a distance of 0; DT_VERNEEDNUM is not needed. A chain goes forward only, so that
// it ends with the file; names that several entries share are counted together.
Result<> ElfFile::read_needed_versions() {
  if (auto table = dynamic(DT_VERSYM)) {
    version_indices_ = table_at<uint16_t>(*table, symbols_.size());
    if (version_indices_ == nullptr) return damaged("its versions lie outside the file");
  }
  const auto needs = dynamic(DT_VERNEED);
  if (!needs) return {};
  uint64_t budget = size_ / sizeof(Elf64_Vernaux);
  for (uint64_t need_at = *needs;;) {
    const auto* need = table_at<Elf64_Verneed>(need_at, 1);
    if (need == nullptr) return damaged("a needed version lies outside the file");
    uint64_t version_at = need_at + need->vn_aux;
    for (unsigned j = 0; j < need->vn_cnt; ++j) {
      const auto* version = table_at<Elf64_Vernaux>(version_at, 1);
      if (version == nullptr) return damaged("a needed version lies outside the file");
      if (budget-- == 0) return damaged("it has more needed versions than bytes for them");
      if (version->vna_name < strings_size_)
        needed_versions_[version->vna_other & 0x7fff] = strings_ + version->vna_name;
      if (version->vna_next == 0) break;
      version_at += version->vna_next;
    }
    if (need->vn_next == 0) return {};
    if (budget-- == 0) return damaged("it has more needed versions than bytes for them");
    need_at += need->vn_next;
  }
}

bool ElfFile::is_definition(uint32_t symbol) const {
  const Elf64_Sym& entry = symbols_[symbol];
  const unsigned visibility = ELF64_ST_VISIBILITY(entry.st_other);
  return entry.st_shndx != SHN_UNDEF && ELF64_ST_BIND(entry.st_info) != STB_LOCAL &&
         visibility != STV_HIDDEN && visibility != STV_INTERNAL;
}

bool ElfFile::is_default_version(uint32_t symbol) const {
  return version_indices_ == nullptr || (version_indices_[symbol] & 0x8000) == 0;
}

// Whether the file has a table of hashes for all of its symbols, as linkers make it by default.
bool ElfFile::read_hash_table() {
  const auto table = dynamic(DT_GNU_HASH);
  const auto* words = table ? table_at<uint32_t>(*table, 4) : nullptr;
  if (words == nullptr || words[0] == 0 || words[1] > symbols_.size()) return false;
  const uint64_t buckets_at = *table + 16 + uint64_t{8} * words[2];
  const auto* buckets = table_at<uint32_t>(buckets_at, words[0]);
  const uint64_t hashed = std::max(count_symbols(), words[1]) - words[1];
  const auto* chains = table_at<uint32_t>(buckets_at + uint64_t{4} * words[0], hashed);
  if (buckets == nullptr || chains == nullptr) return false;
  first_hashed_ = words[1];
  buckets_ = {buckets, words[0]};
  chains_ = {chains, hashed};
  return true;
}

Result<> ElfFile::read_definitions() {
  if (read_hash_table()) return {};
  uint64_t name_bytes = 16 * size_;  // symbols may share a name's end, but not all of them
  for (uint32_t i = 1; i < symbols_.size(); ++i) {
    if (!is_definition(i)) continue;
    const std::string_view name = name_of(symbols_[i]);
    if (name.size() > name_bytes) return damaged("its symbols have impossibly long names");
    name_bytes -= name.size();
    auto [entry, is_new] = definitions_.try_emplace(name, i);
    if (!is_new && is_default_version(i)) entry->second = i;
  }
  return {};
}

// File names, which are copied: each in the string table, none longer than the kernel opens.
Result<> ElfFile::check_names() const {
  constexpr uint64_t kLongest = 4096;
  for (const Elf64_Dyn& entry : dynamic_) {
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME) continue;
    if (entry.d_un.d_val >= strings_size_)
      return damaged("the name of a library lies outside its string table");
    const uint64_t most = std::min(kLongest, strings_size_ - entry.d_un.d_val);
    if (strnlen(strings_ + entry.d_un.d_val, most) == kLongest)
      return damaged("the name of a library is impossibly long");
  }
  return {};
}

bool ElfFile::append_table(int64_t table_tag, int64_t size_tag) {
  const auto table = dynamic(table_tag), size = dynamic(size_tag);
  if (!table || !size || *size == 0) return true;
  const uint64_t count = *size / sizeof(Elf64_Rela);
  const auto* entries = table_at<Elf64_Rela>(*table, count);
  if (entries == nullptr) return false;
  relocations_.reserve(relocations_.size() + count);
  for (const Elf64_Rela& entry : std::span(entries, count))
    relocations_.push_back({entry.r_offset, static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)),
                            static_cast<uint32_t>(ELF64_R_SYM(entry.r_info)), entry.r_addend});
  return true;
}

// DT_RELR: an even word is the address of one word to relocate; an odd word is a bitmap of the 63
// words after the last address. Each word has its addend in the file, so that there are no more
// words than the file can hold.
bool ElfFile::append_relative_table() {
  constexpr int64_t kRelr = 36, kRelrSize = 35;  // DT_RELR, DT_RELRSZ; not in every <elf.h>
  const auto table = dynamic(kRelr), size = dynamic(kRelrSize);
  if (!table || !size || *size == 0) return true;
  const uint64_t count = *size / sizeof(uint64_t);
  const auto* words = table_at<uint64_t>(*table, count);
  if (words == nullptr) return false;
  const auto append = [&](uint64_t address) {
    const char* place = at(address, sizeof(int64_t));
    if (place == nullptr || relocations_.size() > size_ / sizeof(uint64_t)) return false;
    int64_t addend = 0;
    memcpy(&addend, place, sizeof addend);
    relocations_.push_back({address, R_X86_64_RELATIVE, 0, addend});
    return true;
  };
  uint64_t next = 0;
  for (const uint64_t word : std::span(words, count)) {
    if ((word & 1) == 0) {
      if (!append(word)) return false;
      next = word + 8;
      continue;
    }
    for (int bit = 1; bit < 64; ++bit)
      if ((word >> bit & 1) && !append(next + 8 * static_cast<uint64_t>(bit - 1))) return false;
    next += 63 * 8;
  }
  return true;
}

Result<> ElfFile::read_relocations() {
  if (!append_relative_table() || !append_table(DT_RELA, DT_RELASZ) ||
      !append_table(DT_JMPREL, DT_PLTRELSZ))
    return damaged("its relocations lie outside the file");
  return {};
}

// Finds the first .symtab that can be read.
void ElfFile::read_full_symbols() {
  const Elf64_Ehdr& header = this->header();
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff > size_ ||
      header.e_shoff % alignof(Elf64_Shdr) != 0 ||
      header.e_shnum > (size_ - header.e_shoff) / sizeof(Elf64_Shdr))
    return;
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(data_ + header.e_shoff);
  const auto inside = [&](const Elf64_Shdr& section) {
    return section.sh_size <= size_ && section.sh_offset <= size_ - section.sh_size;
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr& section = sections[i];
    if (section.sh_type != SHT_SYMTAB || !inside(section) || section.sh_link >= header.e_shnum ||
        section.sh_offset % alignof(Elf64_Sym) != 0)
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
    return;
  }
}

}  // namespace sesame::loader
