#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/check.h"
#include "core/loader/images.h"
#include "core/loader/load.h"
#include "core/loader/loader.h"
#include "core/loader/prepare_images.h"
#include "core/loader/process.h"
#include "core/loader/shared_libraries.h"
#include "core/loader/stream.h"
#include "core/loader/threads.h"

namespace sesame::loader {
namespace {

char* short_name(char* name) {
  char* slash = strrchr(name, '/');
  return slash == nullptr ? name : slash + 1;
}

void set_variables(RankProcess& process) {
  for (size_t i = 0; i < kVariableCount; ++i) {
    const VariableLocation& place = process.images->variables[i];
    process.variables[i] = reinterpret_cast<void*>(process.bases[place.image] + place.offset);
  }
  process.switched.in = process.in;
  process.switched.out = process.out;
  process.switched.err = process.err;
  char* name = const_cast<char*>(process.arguments->arguments[0].c_str());
  process.variable<FILE*>(Variable::kStdin) = process.in;
  process.variable<FILE*>(Variable::kStdout) = process.out;
  process.variable<FILE*>(Variable::kStderr) = process.err;
  process.variable<char**>(Variable::kEnviron) = nullptr;  // made on the rank's stack
  process.variable<char*>(Variable::kOptarg) = nullptr;
  process.variable<int>(Variable::kOptind) = 1;
  process.variable<int>(Variable::kOpterr) = 1;
  process.variable<int>(Variable::kOptopt) = '?';
  process.variable<char*>(Variable::kProgramName) = name;
  process.variable<char*>(Variable::kProgramShortName) = short_name(name);
}

void apply_fixups(const ImageGroup& group, const std::vector<uint64_t>& bases) {
  for (const Fixup& fixup : group.fixups)
    *reinterpret_cast<uint64_t*>(bases[fixup.image] + fixup.offset) =
        bases[fixup.target_image] + fixup.addend;
  for (const CopyFixup& copy : group.copies)
    memcpy(reinterpret_cast<void*>(bases[copy.image] + copy.offset),
           reinterpret_cast<const void*>(bases[copy.source_image] + copy.source_offset), copy.size);
  for (const Clone& clone : group.clones)
    memcpy(reinterpret_cast<void*>(bases[clone.image] + clone.offset), clone.original, clone.size);
}

// Sets the directory that the rank starts in. REQUIRES: no rank is active.
Result<> begin_in(RankProcess& process, const std::string& directory) {
  swap_directories_from_now_on();
  process.directory = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (process.directory >= 0) return {};
  return error_at(directory, 0,
                  std::string("cannot work in this directory: ") + std::strerror(errno));
}

}  // namespace

Result<> copy_group(RankProcess& process, const ImageGroup& group) {
  if (process.bases.size() < group.end) process.bases.resize(group.end);
  for (uint32_t i = group.begin; i < group.end; ++i) {
    const Image& image = *process.images->images[i];
    const Result<uint64_t> base = map_image(image);
    if (!base) {
      while (i-- > group.begin) remove_copy(process, i);
      return std::unexpected(base.error());
    }
    process.bases[i] = *base;
    register_copy(*base + image.begin, &image, *base);
  }
  apply_fixups(group, process.bases);
  return {};
}

void remove_copy(RankProcess& process, uint32_t index) {
  const Image* image = process.images->images[index].get();
  uint64_t& base = process.bases[index];
  if (image == nullptr || base == 0) return;
  unregister_copy(base + image->begin);
  munmap(reinterpret_cast<void*>(base + image->begin), image->size);
  base = 0;
}

ProgramImage::ProgramImage(Program program, std::unique_ptr<ImageSet> images)
    : program_(std::move(program)), images_(std::move(images)) {}

ProgramImage::~ProgramImage() = default;

Result<std::unique_ptr<ProgramImage>> ProgramImage::open(const Program& program) {
  remember_host_streams();
  if (hooks().now_ps == nullptr) set_hooks({});
  Result<std::unique_ptr<ImageSet>> images = prepare_images(program);
  if (!images) return std::unexpected(images.error());
  count_shared_libraries(OpenedBy::kLoader);
  return std::unique_ptr<ProgramImage>(new ProgramImage(program, std::move(*images)));
}

Result<RankProcessPtr> ProgramImage::load(int rank, const LaunchArguments& arguments,
                                          std::string_view own_variables) {
  if (arguments.arguments.empty()) return error("a program needs at least its own name");
  RankProcessPtr process(new RankProcess);
  process->rank = rank;
  process->images = images_.get();
  process->program = &program_;
  process->arguments = &arguments;
  if (!own_variables.empty()) {
    process->start_variables = std::make_unique_for_overwrite<char[]>(own_variables.size());
    memcpy(process->start_variables.get(), own_variables.data(), own_variables.size());
    process->start_variable_bytes = own_variables.size();
  }
  process->bases.resize(images_->program.end + 1);
  process->block = std::make_unique<char[]>(images_->block_size);
  process->bases[images_->block_image()] = reinterpret_cast<uint64_t>(process->block.get());
  if (Result<> copied = copy_group(*process, images_->program); !copied)
    return std::unexpected(copied.error());
  if (!arguments.directory.empty()) {
    if (auto moved = begin_in(*process, arguments.directory); !moved) {
      return std::unexpected(moved.error());
    }
  }
  if (images_->thread_blocks) {
    Result<std::unique_ptr<ThreadBlock>> block = ThreadBlock::create();
    if (!block) return std::unexpected(block.error());
    process->thread_block = std::move(*block);
    fill_thread_window(*process, process->thread_block->pointer());
    enter_thread_blocks_from_now_on();
  }
  open_streams(*process);
  set_variables(*process);
  return process;
}

RankProcess::~RankProcess() {
  close_streams(*this);
  for (uint32_t i = 0; i < bases.size(); ++i) remove_copy(*this, i);
  if (locale != nullptr) freelocale(locale);
  if (directory >= 0) close(directory);
}

void RankProcessDeleter::operator()(RankProcess* process) const {
  CHECK(process != active());
  delete process;
}

}  // namespace sesame::loader
