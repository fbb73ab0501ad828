#include "core/trace/directory_reader.h"

#include "core/trace/record_types.h"

namespace sesame::trace {

Result<std::unique_ptr<DirectoryReader>> DirectoryReader::open(const std::string& directory) {
  auto sources = stream_sources(directory);
  if (!sources) return std::unexpected(sources.error());
  return std::unique_ptr<DirectoryReader>(new DirectoryReader(std::move(*sources)));
}

DirectoryBatch DirectoryReader::read(size_t size_bytes) {
  DirectoryBatch batch;
  batch.rows.resize(batch.records.size());
  while (batch.size_bytes() < size_bytes && (stream_ || open_next())) {
    std::vector<size_t> had;
    for (const RecordBatch& of_type : batch.records) had.push_back(of_type.bytes.size());
    const auto done = stream_->read_into(batch, size_bytes - batch.size_bytes());
    note_rows(batch, had);
    if (!done) damage_.push_back(done.error().to_string());
    if (!done || batch.at_end) end_stream();
  }
  batch.at_end = !stream_ && next_source_ == sources_.size();
  return batch;
}

// False when there are no more streams.
bool DirectoryReader::open_next() {
  while (next_source_ < sources_.size()) {
    StreamSource& source = sources_[next_source_++];
    auto opened = source.packets.empty()
                      ? StreamReader::open(source.path)
                      : StreamReader::open(source.path, std::move(source.packets));
    if (opened) {
      stream_ = std::move(*opened);
      return true;
    }
    damage_.push_back(opened.error().to_string());
  }
  return false;
}

void DirectoryReader::end_stream() {
  discarded_ += stream_->discarded();
  stream_.reset();
}

void DirectoryReader::note_rows(DirectoryBatch& batch, const std::vector<size_t>& had) const {
  const std::span<const RecordType> types = record_types();
  for (size_t i = 0; i < types.size(); ++i) {
    const size_t added = batch.records[i].bytes.size() - had[i];
    if (added == 0) continue;
    std::vector<RankRows>& runs = batch.rows[i];
    if (runs.empty() || runs.back().rank != stream_->rank()) runs.push_back({stream_->rank(), 0});
    runs.back().rows += added / types[i].size_bytes;
  }
}

}  // namespace sesame::trace
