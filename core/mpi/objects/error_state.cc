#include "core/mpi/objects/error_state.h"

namespace sesame::mpi {

int ErrorCodes::add_class() {
  entries_[next_].error_class = next_;
  return next_++;
}

int ErrorCodes::add_code(int error_class) {
  entries_[next_].error_class = error_class;
  return next_++;
}

int ErrorCodes::set_text(int code, std::string text) {
  auto entry = entries_.find(code);
  if (entry == entries_.end()) return MPI_ERR_ARG;
  entry->second.text = std::move(text);
  entry->second.has_text = true;
  return MPI_SUCCESS;
}

int ErrorCodes::remove_text(int code) {
  auto entry = entries_.find(code);
  if (entry == entries_.end() || !entry->second.has_text) return MPI_ERR_ARG;
  entry->second.text.clear();
  entry->second.has_text = false;
  return MPI_SUCCESS;
}

int ErrorCodes::remove_class(int error_class) {
  auto entry = entries_.find(error_class);
  if (entry == entries_.end() || entry->second.error_class != error_class) return MPI_ERR_ARG;
  for (const auto& [code, entry] : entries_) {
    if (code != error_class && entry.error_class == error_class) return MPI_ERR_ARG;
  }
  entries_.erase(entry);
  return MPI_SUCCESS;
}

int ErrorCodes::remove_code(int code) {
  auto entry = entries_.find(code);
  if (entry == entries_.end() || entry->second.error_class == code) return MPI_ERR_ARG;
  entries_.erase(entry);
  return MPI_SUCCESS;
}

int ErrorCodes::class_of(int code) const {
  auto entry = entries_.find(code);
  return entry != entries_.end() ? entry->second.error_class : MPI_ERR_UNKNOWN;
}

const char* ErrorCodes::text_of(int code) const {
  auto entry = entries_.find(code);
  return entry != entries_.end() ? entry->second.text.c_str() : nullptr;
}

}  // namespace sesame::mpi
