// The extended form of a matrix: a file with all its numbers, zeros too. 64 bytes of header, then
// row by row the row's number and its `order` numbers, all of 8 bytes, as this processor stores
// them. The header: the letters SESAMEXF, then version, order and nonzeros as 8-byte integers.
#ifndef WORKLOADS_IO_SPARSE_EXTENDED_H_
#define WORKLOADS_IO_SPARSE_EXTENDED_H_

#include <string>

#include "io/sparse/generator.h"
#include "kit/ranks.h"

namespace sesame::workload::sparse {

struct ExtendedFile {
  std::string path;
  long order, nonzeros;

  static constexpr long kHeaderBytes = 64;
  long row_bytes() const { return 8 * (order + 1); }
  long offset_of(long row) const { return kHeaderBytes + row * row_bytes(); }
  double bytes() const { return static_cast<double>(offset_of(order)); }
};

// The rows in chunks of `rows_each`, the last may have fewer.
struct RowChunks {
  long order, rows_each;

  long count() const { return (order + rows_each - 1) / rows_each; }
  // Empty behind the last chunk.
  Block rows(long chunk) const;
};

// Collective. Throws UsageError on all ranks when the file does not exist or is incomplete.
ExtendedFile open_extended(const std::string& option, const std::string& path);

// Collective: every rank writes a part.
ExtendedFile write_extended(const std::string& path, const GeneratedMatrix& matrix, long nonzeros);

// Reads some rows with one plain read, numbers of rows left out.
std::vector<double> read_rows(const ExtendedFile& file, Block rows);

}  // namespace sesame::workload::sparse

#endif  // WORKLOADS_IO_SPARSE_EXTENDED_H_
