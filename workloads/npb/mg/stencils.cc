#include "npb/mg/stencils.h"

#include <vector>

namespace sesame::workload {
namespace {

// Of the rows around a row: the sums of the four that share a face with it and of the four that
// share an edge. Each serves three points, which saves two thirds of the additions.
void add_rows(const double* __restrict center, long row, long plane, int count,
              double* __restrict faces, double* __restrict edges) {
  const double* __restrict below = center - plane;
  const double* __restrict above = center + plane;
  for (int i = 0; i < count; ++i) {
    faces[i] = (center[i - row] + center[i + row]) + (below[i] + above[i]);
    edges[i] = (below[i - row] + below[i + row]) + (above[i - row] + above[i + row]);
  }
}

void subtract_row(int count, const double* __restrict u, const double* __restrict faces,
                  const double* __restrict edges, const double* right, double* residual) {
  constexpr double kSelf = -8.0 / 3, kEdge = 1.0 / 6, kCorner = 1.0 / 12;  // no weight on faces
  for (int i = 1; i <= count; ++i) {
    residual[i] = right[i] - kSelf * u[i] - kEdge * (edges[i] + (faces[i - 1] + faces[i + 1])) -
                  kCorner * (edges[i - 1] + edges[i + 1]);
  }
}

void smooth_row(int count, const Weights& weights, const double* __restrict r,
                const double* __restrict faces, const double* __restrict edges,
                double* __restrict u) {
  const double self = weights[0], face = weights[1], edge = weights[2];
  for (int i = 1; i <= count; ++i) {
    u[i] += self * r[i] + face * (faces[i] + (r[i - 1] + r[i + 1])) +
            edge * (edges[i] + (faces[i - 1] + faces[i + 1]));
  }
}

void restrict_row(int count, const double* __restrict fine, const double* __restrict faces,
                  const double* __restrict edges, double* __restrict coarse) {
  for (int j = 1; j <= count; ++j) {
    const int i = 2 * j;
    coarse[j] = 0.5 * fine[i] + 0.25 * (faces[i] + (fine[i - 1] + fine[i + 1])) +
                0.125 * (edges[i] + (faces[i - 1] + faces[i + 1])) +
                0.0625 * (edges[i - 1] + edges[i + 1]);
  }
}

// Two points of `fine` for each of `coarse`, scaled.
void interpolate_row(int count, double scale, const double* __restrict coarse,
                     double* __restrict fine) {
  for (int i = 0; i <= count; ++i) {
    fine[2 * i] += scale * coarse[i];
    fine[2 * i + 1] += 0.5 * scale * (coarse[i] + coarse[i + 1]);
  }
}

struct RowSums {
  explicit RowSums(const Grid& grid) : faces(grid.row), edges(grid.row) {}

  void add(const Grid& grid, int y, int z) {
    add_rows(grid.values.data() + grid.at(0, y, z), grid.row, grid.plane,
             static_cast<int>(grid.row), faces.data(), edges.data());
  }

  std::vector<double> faces, edges;
};

}  // namespace

void subtract_laplacian(const Grid& u, const Grid& right, Grid& residual) {
  RowSums sums(u);
  for (int z = 1; z <= u.extent[2]; ++z) {
    for (int y = 1; y <= u.extent[1]; ++y) {
      sums.add(u, y, z);
      const long at = u.at(0, y, z);
      subtract_row(u.extent[0], u.values.data() + at, sums.faces.data(), sums.edges.data(),
                   right.values.data() + at, residual.values.data() + at);
    }
  }
}

void smooth(const Weights& weights, const Grid& residual, Grid& u) {
  RowSums sums(residual);
  for (int z = 1; z <= u.extent[2]; ++z) {
    for (int y = 1; y <= u.extent[1]; ++y) {
      sums.add(residual, y, z);
      const long at = u.at(0, y, z);
      smooth_row(u.extent[0], weights, residual.values.data() + at, sums.faces.data(),
                 sums.edges.data(), u.values.data() + at);
    }
  }
}

void restrict_to(const Grid& fine, Grid& coarse) {
  RowSums sums(fine);
  for (int z = 1; z <= coarse.extent[2]; ++z) {
    for (int y = 1; y <= coarse.extent[1]; ++y) {
      sums.add(fine, 2 * y, 2 * z);
      restrict_row(coarse.extent[0], fine.values.data() + fine.at(0, 2 * y, 2 * z),
                   sums.faces.data(), sums.edges.data(), coarse.values.data() + coarse.at(0, y, z));
    }
  }
}

void interpolate(const Grid& coarse, Grid& fine) {
  const int count = coarse.extent[0];
  std::vector<double> y_sum(coarse.row), z_sum(coarse.row), both(coarse.row);
  for (int z = 0; z <= coarse.extent[2]; ++z) {
    for (int y = 0; y <= coarse.extent[1]; ++y) {
      const double* __restrict c = coarse.values.data() + coarse.at(0, y, z);
      for (int i = 0; i < coarse.row; ++i) {
        y_sum[i] = c[i] + c[i + coarse.row];
        z_sum[i] = c[i] + c[i + coarse.plane];
        both[i] = y_sum[i] + (c[i + coarse.plane] + c[i + coarse.row + coarse.plane]);
      }
      double* f = fine.values.data() + fine.at(0, 2 * y, 2 * z);
      interpolate_row(count, 1, c, f);
      interpolate_row(count, 0.5, y_sum.data(), f + fine.row);
      interpolate_row(count, 0.5, z_sum.data(), f + fine.plane);
      interpolate_row(count, 0.25, both.data(), f + fine.row + fine.plane);
    }
  }
}

}  // namespace sesame::workload
