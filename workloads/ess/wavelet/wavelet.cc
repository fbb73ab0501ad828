// Mallat's decomposition of an image into wavelets: each level filters the rows and then the
// columns of what is left into a coarse and a fine half, and continues with the coarse quarter
// in both. Periodic borders; the orthonormal filters of Daubechies with 2 or 4 taps.
#include <fcntl.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ess/wavelet/image.h"
#include "ess/wavelet/transpose.h"
#include "kit/files.h"
#include "kit/phases.h"
#include "kit/program.h"

namespace sesame::workload {
namespace {

constexpr double kSameEnergy = 1e-12;  // relative
constexpr double kSamePicture = 1e-9;  // largest error of a point, of 255
constexpr const char* kBands[] = {"LL", "HL", "LH", "HH"};

struct Options {
  std::string image, output, directory = ".", scratch = "files";
  int size = 512, levels = 3, taps = 4;
};

class Filter {
 public:
  explicit Filter(int taps) {
    const double root = std::sqrt(3.0), unit = 1 / (4 * std::sqrt(2.0));
    if (taps == 2) {
      low_ = {std::sqrt(0.5), std::sqrt(0.5)};
    } else {
      low_ = {(1 + root) * unit, (3 + root) * unit, (3 - root) * unit, (1 - root) * unit};
    }
    for (int k = 0; k < taps; ++k) high_.push_back((k % 2 == 0 ? 1 : -1) * low_[taps - 1 - k]);
  }

  // The first half of `to` becomes coarse, the second fine.
  void split(const double* from, double* to, long count) const {
    for (long i = 0; i < count / 2; ++i) {
      double coarse = 0, fine = 0;
      for (std::size_t k = 0; k < low_.size(); ++k) {
        const double value = from[(2 * i + static_cast<long>(k)) % count];
        coarse += low_[k] * value;
        fine += high_[k] * value;
      }
      to[i] = coarse;
      to[count / 2 + i] = fine;
    }
  }

  void join(const double* from, double* to, long count) const {
    std::fill(to, to + count, 0.0);
    for (long i = 0; i < count / 2; ++i) {
      for (std::size_t k = 0; k < low_.size(); ++k) {
        to[(2 * i + static_cast<long>(k)) % count] +=
            low_[k] * from[i] + high_[k] * from[count / 2 + i];
      }
    }
  }

 private:
  std::vector<double> low_, high_;
};

double energy_of(const std::vector<double>& values) {
  long double exact = 0;  // millions of squares: errors of rounding add up
  for (double value : values) exact += static_cast<long double>(value) * value;
  double sum = static_cast<double>(exact);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

class Decomposition {
 public:
  Decomposition(const Options& options, const ImageHeader& header, const std::string& scratch,
                const std::string& bands)
      : options_(options),
        header_(header),
        bands_(bands),
        filter_(options.taps),
        transposer_(options.scratch == "files" ? scratch : "") {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    image_phase_ = phases_.add("read image");
    filter_phase_ = phases_.add("filter");
    transpose_phase_ = phases_.add("transpose");
    band_phase_ = phases_.add("bands");
  }

  Matrix read_image(const std::string& path) {
    Phases::Scope scope(phases_, image_phase_);
    Matrix image = make_matrix(header_.height, header_.width, ranks_);
    image.values = read_rows(path, header_, image.owners[rank_]);
    ++requests_.reads;
    requests_.bytes_read += static_cast<double>(image.values.size());
    return image;
  }

  void decompose(Matrix image) {
    for (int level = 1; level <= options_.levels; ++level) {
      along_rows(image, true);
      Matrix turned = transpose(image);
      along_rows(turned, true);
      image = transpose(turned);
      for (int band = level == options_.levels ? 0 : 1; band < 4; ++band) {
        store(image, level, band);
      }
      image = shared_out(coarse_part(image));
    }
  }

  // From the files of the bands, as a user of them would.
  Matrix reconstruct() {
    Matrix image;
    for (int level = options_.levels; level >= 1; --level) {
      Matrix whole =
          make_matrix(header_.height >> (level - 1), header_.width >> (level - 1), ranks_);
      if (level < options_.levels) put_coarse(image, whole);
      for (int band = level == options_.levels ? 0 : 1; band < 4; ++band) load(whole, level, band);
      Matrix turned = transpose(whole);
      along_rows(turned, false);
      image = transpose(turned);
      along_rows(image, false);
    }
    return image;
  }

  void report(Report& report) const {
    phases_.report(report);
    report.column("bands", "band", "", band_names_);
    report.column("bands", "energy", "", band_energies_);
    const Requests& scratch = transposer_.requests();
    double sums[4] = {static_cast<double>(requests_.reads + scratch.reads),
                      static_cast<double>(requests_.writes + scratch.writes),
                      requests_.bytes_read + scratch.bytes_read,
                      requests_.bytes_written + scratch.bytes_written};
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    report.figure("read requests", sums[0], "1");
    report.figure("write requests", sums[1], "1");
    report.figure("bytes read", sums[2], "B");
    report.figure("bytes written", sums[3], "B");
  }

  double energy() const {
    double sum = 0;
    for (double band : band_energies_) sum += band;
    return sum;
  }

 private:
  void along_rows(Matrix& matrix, bool forward) {
    Phases::Scope scope(phases_, filter_phase_);
    std::vector<double> line(matrix.columns);
    for (long i = 0; i < matrix.owners[rank_].size(); ++i) {
      const double* from = matrix.row(i);
      forward ? filter_.split(from, line.data(), matrix.columns)
              : filter_.join(from, line.data(), matrix.columns);
      std::copy(line.begin(), line.end(), matrix.row(i));
    }
  }

  Matrix transpose(const Matrix& matrix) {
    Phases::Scope scope(phases_, transpose_phase_);
    return transposer_.transpose(matrix);
  }

  // The same matrix with its rows divided evenly among the ranks: transposed twice.
  Matrix shared_out(const Matrix& matrix) { return transpose(transpose(matrix)); }

  // The quarter that is coarse both ways, still where it was.
  Matrix coarse_part(const Matrix& whole) const {
    Matrix part{whole.rows / 2, whole.columns / 2, whole.owners, {}};
    for (Block& block : part.owners) {
      block.begin = std::min(block.begin, part.rows);
      block.end = std::min(block.end, part.rows);
    }
    for (long i = 0; i < part.owners[rank_].size(); ++i) {
      part.values.insert(part.values.end(), whole.row(i), whole.row(i) + part.columns);
    }
    return part;
  }

  // The reverse: the quarter's rows go to the ranks that have the whole's.
  void put_coarse(const Matrix& part, Matrix& whole) {
    const Block mine = whole.owners[rank_];
    const Matrix turned = transpose(part);
    Matrix wide = make_matrix(part.columns, whole.rows, ranks_);
    for (long i = 0; i < turned.owners[rank_].size(); ++i) {
      std::copy(turned.row(i), turned.row(i) + part.rows, wide.row(i));
    }
    const Matrix back = transpose(wide);
    for (long i = 0; i < mine.size(); ++i) {
      std::copy(back.row(i), back.row(i) + part.columns, whole.row(i));
    }
  }

  std::string band_path(int level, int band) const {
    return bands_ + "/" + kBands[band] + std::to_string(level);
  }

  // Calls use(row of the band, numbers) for this rank's rows of the band.
  template <typename Use>
  void for_rows(Matrix& whole, int band, const Use& use) {
    const long first = band >= 2 ? whole.rows / 2 : 0;
    const Block mine = whole.owners[rank_];
    for (long i = std::max(mine.begin, first); i < std::min(mine.end, first + whole.rows / 2);
         ++i) {
      use(i - first, whole.row(i - mine.begin) + (band % 2) * (whole.columns / 2));
    }
  }

  void store(Matrix& whole, int level, int band) {
    Phases::Scope scope(phases_, band_phase_);
    const std::string path = band_path(level, band);
    if (rank_ == 0) File::open(path, O_WRONLY | O_CREAT | O_TRUNC).close();
    MPI_Barrier(MPI_COMM_WORLD);
    File file = File::open(path, O_WRONLY);
    const long bytes = whole.columns / 2 * static_cast<long>(sizeof(double));
    std::vector<double> kept;
    for_rows(whole, band, [&](long row, const double* values) {
      file.write(values, bytes, row * bytes);
      ++requests_.writes;
      requests_.bytes_written += static_cast<double>(bytes);
      kept.insert(kept.end(), values, values + whole.columns / 2);
    });
    file.close();
    band_names_.push_back(kBands[band] + std::to_string(level));
    band_energies_.push_back(energy_of(kept));
  }

  void load(Matrix& whole, int level, int band) {
    Phases::Scope scope(phases_, band_phase_);
    const File file = File::open(band_path(level, band), O_RDONLY);
    const long bytes = whole.columns / 2 * static_cast<long>(sizeof(double));
    for_rows(whole, band, [&](long row, double* values) {
      file.read(values, bytes, row * bytes);
      ++requests_.reads;
      requests_.bytes_read += static_cast<double>(bytes);
    });
  }

  Options options_;
  ImageHeader header_;
  std::string bands_;
  Filter filter_;
  Transposer transposer_;
  Phases phases_;
  Requests requests_;
  int rank_ = 0, ranks_ = 1;
  int image_phase_, filter_phase_, transpose_phase_, band_phase_;
  std::vector<std::string> band_names_;
  std::vector<double> band_energies_;
};

void check_options(const Options& options) {
  if (options.taps != 2 && options.taps != 4) throw UsageError("--taps takes 2 or 4");
  if (options.scratch != "files" && options.scratch != "messages") {
    throw UsageError("--scratch " + options.scratch + ": expected files or messages");
  }
  if (options.levels < 1 || options.levels > 12) throw UsageError("--levels takes 1 to 12");
  if (options.size < 2 || options.size > 1 << 15) throw UsageError("--size takes 2 to 32768");
}

void check_size(const Options& options, const ImageHeader& header) {
  if (options.scratch == "messages" &&
      header.width * header.height > std::numeric_limits<int>::max()) {
    throw UsageError("--scratch messages: MPI counts to 2^31, the image has more points");
  }
  const long multiple = 1L << options.levels;
  if (header.width % multiple == 0 && header.height % multiple == 0) return;
  throw UsageError("--levels " + std::to_string(options.levels) + ": an image of " +
                   std::to_string(header.width) + " x " + std::to_string(header.height) +
                   " points cannot be halved that often");
}

double largest_difference(const Matrix& left, const Matrix& right) {
  double most = 0;
  for (std::size_t i = 0; i < left.values.size(); ++i) {
    const double difference = std::abs(left.values[i] - right.values[i]);
    most = difference <= most ? most : difference;  // not-a-number becomes the most
  }
  return largest(most);
}

void run(const Options& options, Report& report) {
  check_options(options);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ImageHeader header{options.size, options.size, 0};
  if (!options.image.empty()) header = read_image_header(options.image);
  check_size(options, header);
  const double points = static_cast<double>(header.width) * static_cast<double>(header.height);
  const std::string directory = make_temporary_directory("--dir", options.directory, 20 * points);
  const bool keeps = !options.output.empty();
  const std::string bands =
      keeps ? make_temporary_directory("--output", options.output, 9 * points) : directory;
  const std::string path = options.image.empty() ? directory + "/image.pgm" : options.image;
  if (options.image.empty()) {
    if (rank == 0) write_test_image(path, options.size);
    MPI_Barrier(MPI_COMM_WORLD);
    header = read_image_header(path);
  }
  report.parameter("width", header.width);
  report.parameter("height", header.height);
  report.parameter("levels", long{options.levels});
  report.parameter("taps", long{options.taps});
  report.parameter("scratch", options.scratch);
  Decomposition decomposition(options, header, directory, bands);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  const Matrix image = decomposition.read_image(path);
  decomposition.decompose(image);
  report.time(largest(MPI_Wtime() - begin));
  const Matrix again = decomposition.reconstruct();
  report.check("energy of the bands", decomposition.energy(), energy_of(image.values), kSameEnergy);
  report.check("largest error put together", largest_difference(image, again), 0, kSamePicture);
  decomposition.report(report);
  if (keeps) keep_files(report, bands, options.output);
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  using namespace sesame::workload;
  Program program("wavelet", "decomposition of an image into wavelets");
  Options options;
  Arguments& arguments = program.arguments();
  arguments.add("--image", options.image, "image to take apart (PGM, 8 bits); else one of ours");
  arguments.add("--size", options.size, "width and height of our image");
  arguments.add("--levels", options.levels, "how often to halve");
  arguments.add("--taps", options.taps, "length of the filter: 2 (Haar) or 4 (Daubechies)");
  arguments.add("--scratch", options.scratch, "transpose by files or by messages");
  arguments.add("--dir", options.directory, "where scratch files lie while the program runs");
  arguments.add("--output", options.output, "directory that keeps the bands");
  return program.run(argc, argv, [&](Report& report) { run(options, report); });
}
