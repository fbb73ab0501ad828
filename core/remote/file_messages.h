// Requests about files (RequestKind::kFiles): calls of FileHooks, Mounts and file systems that the
// library of a rank makes (program/files.cc), and the simulator serves (files.cc). A request is one
// or several of them, each a FileCall and its values. The reply has the result of the last one.
#pragma once

#include <cstdint>

#include "core/remote/messages.h"
#include "core/storage/mounts.h"

namespace sesame::remote {

enum class FileCall : uint8_t {
  // FileHooks
  kBegin,
  kEnd,
  kAwaitTurn,
  kChargeMetadata,
  kChargeAccess,
  kChargeFlush,
  kStartAccess,
  kIsDone,
  kWaitFor,
  kWaitForAny,
  // Mounts
  kResolve,
  kLocate,
  kList,  // makes the list that kMoreNames gives part by part
  kMoreNames,
  kCopyOriginals,
  kRemoved,
  kRenamed,
  kExchanged,
  kLinked,
  kOpened,
  kClosed,
  kHostFailed,
  kEnterDirectory,
  kWithoutTime,  // says a use of files that takes no simulated time
  // FileSystem
  kResize,
  kDrop,
};

// A file system has a number, from 1 on; 0: none. The simulator finds only those that it has given
// out.
uint64_t handle_of(const storage::FileSystem* system);
storage::FileSystem* system_of(uint64_t handle);

inline void put_path(Writer& writer, const storage::ResolvedPath& path) {
  writer.put(handle_of(path.system));
  writer.put(path.file);
  writer.put(path.node);
  writer.put(path.is_original);
  writer.put(path.block);
  writer.put(path.error);
  for (const std::string* text : {&path.host_path, &path.backing, &path.name})
    writer.put_text(text->c_str());
}

// A text that must be there.
inline const char* get_name(Reader& reader) {
  const char* const text = reader.get_text();
  if (text == nullptr) sesame_message_is_damaged("a name is missing");
  return text;
}

inline storage::ResolvedPath get_path(Reader& reader) {
  storage::ResolvedPath path;
  path.system = system_of(reader.get<uint64_t>());
  path.file = reader.get<storage::FileId>();
  path.node = reader.get<int>();
  path.is_original = reader.get<bool>();
  path.block = reader.get<uint64_t>();
  path.error = reader.get<int>();
  for (std::string* text : {&path.host_path, &path.backing, &path.name}) *text = get_name(reader);
  return path;
}

}  // namespace sesame::remote
