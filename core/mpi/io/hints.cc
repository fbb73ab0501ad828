#include "core/mpi/io/hints.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/mpi/api.h"
#include "core/mpi/io/file_call.h"
#include "core/mpi/io/file_record.h"
#include "core/mpi/io/file_tables.h"
#include "core/mpi/messages/world.h"
#include "core/mpi/objects/errors.h"
#include "core/mpi/objects/info.h"

namespace sesame::mpi {
namespace {

using machine::CollectiveParameters;
using machine::CollectiveStrategy;
using machine::CollectiveUse;

struct StrategyName {
  const char* name;
  CollectiveStrategy strategy;
};
constexpr StrategyName kStrategies[] = {{"barrier", CollectiveStrategy::kBarrier},
                                        {"grouping", CollectiveStrategy::kGrouping},
                                        {"two-phase", CollectiveStrategy::kTwoPhase},
                                        {"disk-directed", CollectiveStrategy::kDiskDirected}};

template <typename Integer>
std::optional<Integer> number_of(const InfoObject& hints, const char* key) {
  const std::string* text = hints.find(key);
  if (text == nullptr) return std::nullopt;
  Integer number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

template <typename Integer>
void take_number(const InfoObject& hints, const char* key, Integer* value) {
  if (const auto number = number_of<Integer>(hints, key); number && *number > 0) *value = *number;
}

// Reduces a size that is too large to the maximum. MPI_File_get_info returns the size in use.
void take_buffer_size(const InfoObject& hints, const char* key, uint64_t* bytes) {
  take_number(hints, key, bytes);
  *bytes = std::min(*bytes, machine::kLongestCollectiveBuffer);
}

struct UseName {
  const char* name;
  CollectiveUse use;
};
constexpr UseName kUses[] = {{"enable", CollectiveUse::kAlways},
                             {"disable", CollectiveUse::kNever},
                             {"automatic", CollectiveUse::kInterleaved}};

void take_use(const InfoObject& hints, const char* key, CollectiveUse* use) {
  const std::string* text = hints.find(key);
  for (const UseName& known : kUses)
    if (text != nullptr && *text == known.name) *use = known.use;
}

const char* name_of(CollectiveUse use) {
  for (const UseName& known : kUses)
    if (known.use == use) return known.name;
  return "";
}

void take_choice(const InfoObject& hints, const char* key, Choice* choice) {
  const std::string* text = hints.find(key);
  if (text == nullptr) return;
  if (*text == "automatic") *choice = Choice::kAutomatic;
  if (*text == "enable" || *text == "true") *choice = Choice::kEnable;
  if (*text == "disable" || *text == "false") *choice = Choice::kDisable;
}

const char* name_of(Choice choice) {
  if (choice == Choice::kAutomatic) return "automatic";
  return choice == Choice::kEnable ? "enable" : "disable";
}

const char* name_of(CollectiveStrategy strategy) {
  for (const StrategyName& known : kStrategies)
    if (known.strategy == strategy) return known.name;
  return "";
}

void take_strategy(const InfoObject& hints, CollectiveParameters& parameters) {
  const std::string* text = hints.find("sesame_collective");
  for (const StrategyName& known : kStrategies)
    if (text != nullptr && *text == known.name) parameters.strategy = known.strategy;
}

// Sets the hints that MPI_File_get_info returns.
void show_hints(FileObject& file) {
  const CollectiveParameters& parameters = file.collective;
  InfoObject& info = *file.info;
  info.set("cb_buffer_size", std::to_string(parameters.cb_buffer_size));
  if (parameters.cb_nodes > 0) info.set("cb_nodes", std::to_string(parameters.cb_nodes));
  info.set("romio_cb_read", name_of(parameters.cb_read));
  info.set("romio_cb_write", name_of(parameters.cb_write));
  info.set("romio_ds_read", name_of(file.sieving(storage::Direction::kRead)));
  info.set("romio_ds_write", name_of(file.sieving(storage::Direction::kWrite)));
  info.set("ind_rd_buffer_size", std::to_string(parameters.ind_rd_buffer_size));
  info.set("ind_wr_buffer_size", std::to_string(parameters.ind_wr_buffer_size));
  info.set("sesame_collective", name_of(parameters.strategy));
  info.set("sesame_group_size", std::to_string(parameters.group_size));
  const storage::ResolvedPath& path = file.path();
  if (!path.is_simulated()) return;
  if (const auto striping = path.system->striping(path.file)) {
    info.set("striping_factor", std::to_string(striping->factor));
    info.set("striping_unit", std::to_string(striping->unit));
    info.set("start_iodevice", std::to_string(*striping->first));
  }
}

}  // namespace

storage::Striping striping_wanted(const InfoObject& hints) {
  storage::Striping striping;
  take_number(hints, "striping_unit", &striping.unit);
  take_number(hints, "striping_factor", &striping.factor);
  striping.first = number_of<uint32_t>(hints, "start_iodevice");
  return striping;
}

void apply_file_hints(FileObject& file, const InfoObject* hints) {
  if (hints != nullptr) {
    CollectiveParameters& parameters = file.collective;
    take_number(*hints, "cb_nodes", &parameters.cb_nodes);
    take_buffer_size(*hints, "cb_buffer_size", &parameters.cb_buffer_size);
    take_buffer_size(*hints, "ind_rd_buffer_size", &parameters.ind_rd_buffer_size);
    take_buffer_size(*hints, "ind_wr_buffer_size", &parameters.ind_wr_buffer_size);
    take_number(*hints, "sesame_group_size", &parameters.group_size);
    take_strategy(*hints, parameters);
    take_use(*hints, "romio_cb_read", &parameters.cb_read);
    take_use(*hints, "romio_cb_write", &parameters.cb_write);
    take_choice(*hints, "romio_ds_read", &file.read_sieving);
    take_choice(*hints, "romio_ds_write", &file.write_sieving);
  }
  show_hints(file);
}

void record_host_file(World& world, const std::string& path) { world.host_files.insert(path); }

// Collective, but it needs no synchronisation: each rank applies its own hints.
int File_set_info(File fh, Info info) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  InfoObject* hints;
  MPI_TRY(check_info(info, &hints));
  begin_file_record(*file);
  MPI_TRY(enter_collective(*file));
  apply_file_hints(*file, hints);
  return MPI_SUCCESS;
}

int File_get_info(File fh, Info* info_used) {
  FileObject* file;
  MPI_TRY(check_file(fh, &file));
  MPI_TRY(check_out(info_used, "info_used"));
  show_hints(*file);
  *info_used = publish_info(this_rank(), file->info);
  return MPI_SUCCESS;
}

}  // namespace sesame::mpi
