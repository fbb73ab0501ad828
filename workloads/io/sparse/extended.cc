#include "io/sparse/extended.h"

#include <fcntl.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kit/agree.h"
#include "kit/files.h"
#include "kit/ranks.h"

namespace sesame::workload::sparse {
namespace {

constexpr char kLetters[8] = {'S', 'E', 'S', 'A', 'M', 'E', 'X', 'F'};
constexpr std::int64_t kVersion = 1;
constexpr long kMostOrder = 1'000'000'000;

struct Header {
  char letters[8];
  std::int64_t version, order, nonzeros;
  char unused[32];
};
static_assert(sizeof(Header) == ExtendedFile::kHeaderBytes);

// What is wrong, or empty.
std::string check(const Header& header, long size) {
  if (std::memcmp(header.letters, kLetters, sizeof kLetters) != 0) {
    return "not a matrix in extended form; `sesame bench matrix` makes one of a Matrix Market or "
           "Harwell-Boeing file";
  }
  if (header.version != kVersion) {
    return "version " + std::to_string(header.version) + " of the extended form, expected 1";
  }
  if (header.order < 1 || header.order > kMostOrder) {
    return "a matrix of order " + std::to_string(header.order) + ", expected from 1 to " +
           std::to_string(kMostOrder);
  }
  const ExtendedFile file{"", header.order, header.nonzeros};
  const long expected = file.offset_of(file.order);
  if (size == expected) return "";
  return std::to_string(size) + " bytes, expected " + std::to_string(expected) +
         " for a matrix of order " + std::to_string(header.order) +
         (size < expected ? ": the file is truncated" : "");
}

std::string read_header(const std::string& path, Header& header) {
  try {
    const File file = File::open(path, O_RDONLY);
    const long size = file.size();
    if (size < ExtendedFile::kHeaderBytes) {
      return path + ": " + std::to_string(size) + " bytes, too few for a matrix in extended form";
    }
    file.read(&header, sizeof header, 0);
    const std::string trouble = check(header, size);
    return trouble.empty() ? "" : path + ": " + trouble;
  } catch (const FileError& error) {
    return error.what();
  }
}

}  // namespace

Block RowChunks::rows(long chunk) const {
  return {std::min(order, chunk * rows_each), std::min(order, (chunk + 1) * rows_each)};
}

ExtendedFile open_extended(const std::string& option, const std::string& path) {
  Header header = {};
  const std::string trouble = read_header(path, header);
  refuse_if_any(trouble.empty() ? "" : option + " " + trouble);
  return {path, header.order, header.nonzeros};
}

ExtendedFile write_extended(const std::string& path, const GeneratedMatrix& matrix, long nonzeros) {
  const ExtendedFile made{path, matrix.order(), nonzeros};
  const File file = File::open(path, O_CREAT | O_WRONLY);
  if (this_rank() == 0) {
    Header header = {{}, kVersion, made.order, nonzeros, {}};
    std::memcpy(header.letters, kLetters, sizeof kLetters);
    file.write(&header, sizeof header, 0);
  }
  const Block rows = block_of(made.order, number_of_ranks(), this_rank());
  std::vector<double> line(made.order + 1);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    std::memcpy(line.data(), &row, sizeof row);
    matrix.row(row, line.data() + 1);
    file.write(line.data(), made.row_bytes(), made.offset_of(row));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return made;
}

std::vector<double> read_rows(const ExtendedFile& file, Block rows) {
  const long line = file.order + 1;
  std::vector<double> numbers(rows.size() * line);
  File::open(file.path, O_RDONLY)
      .read(numbers.data(), numbers.size() * sizeof(double), file.offset_of(rows.begin));
  for (long i = 0; i < rows.size(); ++i) {
    std::copy_n(&numbers[i * line + 1], file.order, &numbers[i * file.order]);
  }
  numbers.resize(rows.size() * file.order);
  return numbers;
}

}  // namespace sesame::workload::sparse
