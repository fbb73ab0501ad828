#include "ess/wavelet/image.h"

#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>

#include "kit/arguments.h"
#include "kit/files.h"
#include "kit/random.h"

namespace sesame::workload {
namespace {

constexpr long kMostSide = 1 << 16;

// The next number of a header, past white space and comments.
long next_number(std::istream& stream) {
  stream >> std::ws;
  while (stream.peek() == '#') {
    stream.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    stream >> std::ws;
  }
  long number = -1;
  stream >> number;
  return stream ? number : -1;
}

}  // namespace

ImageHeader read_image_header(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw UsageError("--image " + path + ": cannot open it");
  std::string magic(2, ' ');
  stream.read(magic.data(), 2);
  ImageHeader header;
  if (magic == "P5") {
    header.width = next_number(stream);
    header.height = next_number(stream);
  }
  const long most = magic == "P5" ? next_number(stream) : -1;
  const bool sane = 0 < header.width && header.width <= kMostSide && 0 < header.height &&
                    header.height <= kMostSide && 0 < most && most <= 255;
  if (!sane) {
    throw UsageError("--image " + path + ": expected a portable greymap of 8 bits (P5)");
  }
  header.data = static_cast<long>(stream.tellg()) + 1;
  stream.seekg(0, std::ios::end);
  const long found = static_cast<long>(stream.tellg()) - header.data;
  if (found < header.width * header.height) {
    throw UsageError("--image " + path + ": truncated: expected " +
                     std::to_string(header.width * header.height) + " bytes of " +
                     std::to_string(header.width) + " x " + std::to_string(header.height) +
                     " points, got " + std::to_string(std::max(0L, found)));
  }
  return header;
}

std::vector<double> read_rows(const std::string& path, const ImageHeader& header, Block rows) {
  std::vector<std::uint8_t> bytes(rows.size() * header.width);
  if (!bytes.empty()) {
    const File file = File::open(path, O_RDONLY);
    file.read(bytes.data(), bytes.size(), header.data + rows.begin * header.width);
  }
  return {bytes.begin(), bytes.end()};
}

void write_test_image(const std::string& path, long size) {
  const std::string head = "P5\n" + std::to_string(size) + " " + std::to_string(size) + "\n255\n";
  File file = File::open(path, O_WRONLY | O_CREAT | O_TRUNC);
  file.write(head.data(), head.size(), 0);
  NpbRandom random(314159265);
  std::vector<std::uint8_t> row(size);
  for (long y = 0; y < size; ++y) {
    for (long x = 0; x < size; ++x) {
      const double u = static_cast<double>(x) / static_cast<double>(size) - 0.5;
      const double v = static_cast<double>(y) / static_cast<double>(size) - 0.5;
      const double rings = 40 * std::cos(150 * (u * u + v * v));
      const double edge = u + 0.5 * v > 0.1 ? 30 : -30;
      row[x] = static_cast<std::uint8_t>(128 + 30 * u + rings + edge + 10 * random.next());
    }
    file.write(row.data(), row.size(), static_cast<long>(head.size()) + y * size);
  }
  file.close();
}

}  // namespace sesame::workload
