// Grey images of 8 bits in files of the portable greymap format (PGM, P5), read by rows.
#ifndef WORKLOADS_ESS_WAVELET_IMAGE_H_
#define WORKLOADS_ESS_WAVELET_IMAGE_H_

#include <string>
#include <vector>

#include "kit/ranks.h"

namespace sesame::workload {

struct ImageHeader {
  long width = 0, height = 0;
  long data = 0;  // where the first byte of the first row is
};

// Throws UsageError with what is wrong; all ranks read the same and throw alike.
ImageHeader read_image_header(const std::string& path);
std::vector<double> read_rows(const std::string& path, const ImageHeader& header, Block rows);

// A generated picture: a ramp, rings, an edge and grain.
void write_test_image(const std::string& path, long size);

}  // namespace sesame::workload

#endif  // WORKLOADS_ESS_WAVELET_IMAGE_H_
