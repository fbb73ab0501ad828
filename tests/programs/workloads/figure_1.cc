// Compresses the matrix of Figure 1 of Nastea, El-Ghazawi and Frieder (1996) and multiplies it with
// (1, 2, 3, 4, 5) and (1, 0, 0, 0, 0). Prints a, ja, ia with indices from 1, and the products.
#include <cstdio>

#include "io/sparse/itpack.cc"

int main() {
  const double matrix[5][5] = {
      {2, 0, 5, 0, 0}, {8, 3, 0, 7, 0}, {0, 6, 2, 0, 1}, {9, 0, 0, 1, 0}, {0, 7, 0, 0, 2}};
  sesame::workload::sparse::Itpack compressed;
  for (const auto& row : matrix) compressed.append(row, 5);
  const double vectors[] = {1, 1, 2, 0, 3, 0, 4, 0, 5, 0};
  double products[10];
  compressed.multiply(0, vectors, 2, products);
  for (double value : compressed.values) std::printf("%g ", value);
  std::puts("");
  for (auto column : compressed.columns) std::printf("%d ", column + 1);
  std::puts("");
  for (auto begin : compressed.begin) std::printf("%d ", static_cast<int>(begin) + 1);
  std::puts("");
  for (double product : products) std::printf("%g ", product);
  std::puts("");
}
