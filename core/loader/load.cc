#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/check.h"
#include "core/loader/images.h"
#include "core/loader/load.h"
#include "core/loader/loader.h"
#include "core/loader/process.h"
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
    const VariablePlace& place = process.images->variables[i];
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

void apply_fixups(const ImageSet& set, const uint64_t* bases) {
  for (const Fixup& fixup : set.fixups)
    *reinterpret_cast<uint64_t*>(bases[fixup.image] + fixup.offset) =
        bases[fixup.target_image] + fixup.addend;
  for (const CopyFixup& copy : set.copies)
    memcpy(reinterpret_cast<void*>(bases[copy.image] + copy.offset),
           reinterpret_cast<const void*>(bases[copy.source_image] + copy.source_offset), copy.size);
}

// No rank is active now.
Result<> begin_in(RankProcess& process, const std::string& directory) {
  swap_directories_from_now_on();
  process.directory = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (process.directory >= 0) return {};
  return error_at(directory, 0,
                  std::string("cannot work in this directory: ") + std::strerror(errno));
}

}  // namespace

ProgramImage::ProgramImage(Program program, std::unique_ptr<ImageSet> images)
    : program_(std::move(program)), images_(std::move(images)) {}

ProgramImage::~ProgramImage() = default;

Result<std::unique_ptr<ProgramImage>> ProgramImage::open(const Program& program) {
  remember_host_streams();
  if (hooks().now == nullptr) set_hooks({});
  Result<std::unique_ptr<ImageSet>> images = ImageSet::build(program);
  if (!images) return std::unexpected(images.error());
  return std::unique_ptr<ProgramImage>(new ProgramImage(program, std::move(*images)));
}

Result<RankProcessPtr> ProgramImage::load(int rank, const LaunchArguments& arguments) {
  if (arguments.arguments.empty()) return error("a program needs at least its own name");
  RankProcessPtr process(new RankProcess);
  const size_t count = images_->images.size();
  process->rank = rank;
  process->images = images_.get();
  process->arguments = &arguments;
  process->bases = std::make_unique<uint64_t[]>(count + 1);
  process->block = std::make_unique<char[]>(images_->block_size);
  process->bases[count] = reinterpret_cast<uint64_t>(process->block.get());
  for (size_t i = 0; i < count; ++i) {
    const Result<uint64_t> base = map_image(*images_->images[i]);
    if (!base) return std::unexpected(base.error());
    process->bases[i] = *base;
    register_copy(*base + images_->images[i]->begin, images_->images[i].get(), *base);
  }
  apply_fixups(*images_, process->bases.get());
  for (const Clone& clone : images_->clones)
    memcpy(process->block.get() + clone.block_offset, clone.original, clone.size);
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
  for (size_t i = 0; bases != nullptr && i < images->images.size(); ++i) {
    if (bases[i] == 0) continue;
    const Image& image = *images->images[i];
    unregister_copy(bases[i] + image.begin);
    munmap(reinterpret_cast<void*>(bases[i] + image.begin), image.size);
  }
  if (locale != nullptr) freelocale(locale);
  if (directory >= 0) close(directory);
}

void RankProcessDeleter::operator()(RankProcess* process) const {
  CHECK(process != active());
  delete process;
}

}  // namespace sesame::loader
