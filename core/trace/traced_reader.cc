#include "core/trace/traced_reader.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>

namespace sesame::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTracedFormatKey = "sesame_traced_format = ";
constexpr std::string_view kNamesEnd = ":= call_t";
constexpr std::string_view kNamesStart = "enum";
constexpr uint64_t kLargestTracedPacketBytes = 256u << 20;

std::string failure() { return std::string("cannot read: ") + std::strerror(errno); }

// Up to `size` bytes; fewer when the file ends first. A damaged length must not make us reserve
// what the file does not hold, so the buffer grows as data arrives.
void read_up_to(FILE* file, std::vector<unsigned char>& bytes, size_t size) {
  constexpr size_t kStep = 4 << 20;
  size_t had = 0;
  while (had < size) {
    size_t step = std::min(kStep, size - had);
    if (bytes.size() < had + step) bytes.resize(had + step);
    size_t got = std::fread(bytes.data() + had, 1, step, file);
    had += got;
    if (got < step) break;
  }
  bytes.resize(had);
}

// Names of a TSDL enumeration: "open", "creat" = 7, …; without a number one more than before.
Result<std::vector<std::string>> parse_names(std::string_view text) {
  std::vector<std::string> names;
  size_t number = 0;
  while (true) {
    size_t open = text.find('"');
    if (open == std::string_view::npos) return names;
    size_t close = text.find('"', open + 1);
    if (close == std::string_view::npos) return error("a name without its closing quote");
    std::string_view name = text.substr(open + 1, close - open - 1);
    text.remove_prefix(close + 1);
    size_t sign = text.find_first_not_of(" \t\n");
    if (sign != std::string_view::npos && text[sign] == '=') {
      size_t digit = text.find_first_of("0123456789", sign);
      if (digit == std::string_view::npos) return error("a name without its number");
      std::from_chars(text.data() + digit, text.data() + text.size(), number);
    }
    if (number > UINT16_MAX) return error("more names than a record can tell apart");
    if (names.size() <= number) names.resize(number + 1);
    names[number++] = name;
  }
}

}  // namespace

Result<std::vector<std::string>> parse_traced_metadata(std::string_view text,
                                                       const std::string& path) {
  size_t key = text.find(kTracedFormatKey);
  if (!text.starts_with("/* CTF 1.8 */") || key == std::string_view::npos) {
    return error_at(path, 1, "this is not the metadata of a traced run");
  }
  int format = 0;
  std::from_chars(text.data() + key + kTracedFormatKey.size(), text.data() + text.size(), format);
  if (format != SESAME_TRACED_FORMAT) {
    return error_at(path, 0,
                    "format " + std::to_string(format) + " of a traced run, expected " +
                        std::to_string(SESAME_TRACED_FORMAT),
                    "read it with the version of Sesame that wrote it");
  }
  size_t end = text.find(kNamesEnd);
  size_t start = end == std::string_view::npos ? end : text.rfind(kNamesStart, end);
  if (start == std::string_view::npos) {
    return error_at(path, 0, "the list of functions, call_t, is missing");
  }
  auto names = parse_names(text.substr(start, end - start));
  if (!names) return error_at(path, 0, names.error().message);
  return names;
}

Result<TracedState> read_traced_state(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return error_at(path, 0, failure());
  auto state = std::make_unique<SesameProcessState>();
  size_t got = std::fread(state.get(), 1, sizeof *state, file.get());
  size_t head = offsetof(SesameProcessState, thread);
  if (got < head || state->magic != SESAME_STATE_MAGIC) {
    return error_at(path, 0, "this is not the state of a traced process");
  }
  if (state->format != SESAME_TRACED_FORMAT) {
    return error_at(path, 0,
                    "format " + std::to_string(state->format) + ", expected " +
                        std::to_string(SESAME_TRACED_FORMAT));
  }
  TracedState result;
  result.pid = state->pid;
  result.ended = state->ended;
  result.error = state->error;
  // The last entry is shared by all threads beyond the limit, so all entries are read.
  size_t threads = (got - head) / sizeof(SesameThreadState);
  for (size_t i = 0; i < threads; ++i) {
    result.records += state->thread[i].records;
    result.discarded += state->thread[i].discarded;
  }
  return result;
}

// Streams are NAME.THREAD.stream, the state of the process is state/NAME.
static Result<std::vector<TracedFiles>> list_processes(const std::string& path) {
  std::map<std::string, TracedFiles> processes;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(path + "/state", failed)) {
    std::string name = entry.path().filename();
    processes[name] = {name, entry.path(), {}};
  }
  fs::directory_iterator entries(path, failed);
  if (failed) return error_at(path, 0, "cannot read: " + failed.message());
  for (const auto& entry : entries) {
    if (entry.path().extension() != ".stream") continue;
    std::string name = entry.path().stem().stem();
    processes[name].name = name;
    processes[name].streams.push_back(entry.path());
  }
  std::vector<TracedFiles> result;
  for (auto& [name, process] : processes) {
    std::ranges::sort(process.streams);
    result.push_back(std::move(process));
  }
  return result;
}

Result<TracedDirectory> read_traced_directory(const std::string& path) {
  std::string metadata = path + "/metadata";
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(metadata.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) return error_at(metadata, 0, failure());
  std::vector<unsigned char> text;
  read_up_to(file.get(), text, 16u << 20);
  auto names =
      parse_traced_metadata({reinterpret_cast<const char*>(text.data()), text.size()}, metadata);
  if (!names) return std::unexpected(names.error());

  auto processes = list_processes(path);
  if (!processes) return std::unexpected(processes.error());
  return TracedDirectory{*std::move(names), *std::move(processes)};
}

TracedStream::TracedStream(std::string path)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "rbe")) {
  if (file_ == nullptr) fail(failure());
}

// False at the end of the stream, or at damage.
bool TracedStream::next_packet() {
  if (damage_) return false;
  if (cut_) return fail("the stream is cut off");
  offset_ = next_offset_;
  SesamePacketStart start;
  size_t got = std::fread(&start, 1, sizeof start, file_.get());
  if (std::ferror(file_.get()) != 0) return fail(failure());
  if (got == 0) return false;
  if (got < sizeof start) return fail("the stream is cut off");
  if (!check(start)) return false;
  read_up_to(file_.get(), packet_, start.packet_bits / 8 - sizeof start);
  cut_ = packet_.size() < start.packet_bits / 8 - sizeof start;
  size_t content = std::min<size_t>(start.content_bits / 8 - sizeof start, packet_.size());
  at_ = packet_.data();
  end_ = at_ + content;
  time_ = start.timestamp_begin;
  discarded_ = start.events_discarded;
  pid_ = start.pid;
  thread_ = start.thread;
  next_offset_ = offset_ + start.packet_bits / 8;
  ++packets_;
  return true;
}

bool TracedStream::check(const SesamePacketStart& start) {
  if (start.magic != SESAME_PACKET_MAGIC || start.stream_id != SESAME_TRACED_STREAM) {
    return fail("this is not a packet of a traced run");
  }
  if (start.content_bits % 8 != 0 || start.packet_bits % 8 != 0 ||
      start.content_bits > start.packet_bits || start.content_bits / 8 < sizeof start ||
      start.packet_bits / 8 > kLargestTracedPacketBytes) {
    return fail("the packet's length is wrong");
  }
  if (packets_ > 0 && (start.pid != pid_ || start.thread != thread_)) {
    return fail("the packet is of another thread");
  }
  if (packets_ > 0 && start.packet_number != packets_) return fail("packets are missing");
  return true;
}

bool TracedStream::refuse(DecodeResult why, uint8_t id) {
  if (why == DecodeResult::kUnknown) {
    return fail("record type " + std::to_string(id & ~SESAME_WIDE) +
                ", which this version does not know");
  }
  return fail(cut_ ? "the stream is cut off" : "a record is cut off");
}

bool TracedStream::fail(const std::string& what) {
  damage_ = what + ", in the packet at byte " + std::to_string(offset_);
  at_ = end_ = nullptr;
  return false;
}

}  // namespace sesame::trace
