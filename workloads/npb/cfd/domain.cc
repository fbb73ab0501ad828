#include "npb/cfd/domain.h"

#include <mpi.h>

#include <bit>
#include <cmath>
#include <stdexcept>

#include "kit/ranks.h"

namespace sesame::workload::cfd {
namespace {

int modulo(int value, int q) { return (value % q + q) % q; }

void refuse_too_many(const std::string& program, int ranks, int grid, long most) {
  const std::string side = std::to_string(grid);
  require_at_most(program, ranks, most, "the grid has " + side + " points a side");
}

Subdomain make_subdomain(const Domain& domain, const Index& layer, int residual_ghosts) {
  Index begin, size;
  for (int d = 0; d < 3; ++d) {
    const Block block = block_of(domain.grid, domain.layers[d], layer[d]);
    begin[d] = static_cast<int>(block.begin);
    size[d] = static_cast<int>(block.size());
  }
  return Subdomain(domain.grid, layer, begin, size, residual_ghosts);
}

// A face's layers `first` to `last` in direction d; the whole subdomain in the other directions.
struct Slab {
  Index begin, end;
  Slab(const Subdomain& subdomain, int d, int first, int last) : begin{}, end(subdomain.size) {
    begin[d] = first;
    end[d] = last;
  }
};

// Calls copy(first double of a row, doubles in it).
template <typename Copy>
void for_rows(Subdomain& subdomain, const Slab& slab, Copy&& copy) {
  const long length = kStates * (slab.end[0] - slab.begin[0]);
  for (int k = slab.begin[2]; k < slab.end[2]; ++k) {
    for (int j = slab.begin[1]; j < slab.end[1]; ++j) {
      copy(&subdomain.state[kStates * subdomain.state_at.at(slab.begin[0], j, k)], length);
    }
  }
}

// Calls add(local indices) for the inner points of the cube and takes the root of the mean.
template <typename Add>
State norms(const Domain& domain, Add&& add) {
  State sums{};
  for (const Subdomain& subdomain : domain.subdomains) {
    for (int k = subdomain.inner_begin(2); k < subdomain.inner_end(2); ++k) {
      for (int j = subdomain.inner_begin(1); j < subdomain.inner_end(1); ++j) {
        for (int i = subdomain.inner_begin(0); i < subdomain.inner_end(0); ++i)
          add(subdomain, i, j, k, sums);
      }
    }
  }
  State result;
  MPI_Allreduce(sums.data(), result.data(), kStates, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (double& value : result) value = std::sqrt(value / std::pow(domain.grid - 2, 3));
  return result;
}

}  // namespace

Subdomain& Domain::subdomain_in_layer(int d, int layer) {
  for (Subdomain& subdomain : subdomains) {
    if (subdomain.layer[d] == layer) return subdomain;
  }
  throw std::logic_error("no subdomain in this layer");
}

Domain multi_partition(const std::string& program, int grid) {
  const int q = require_square(program, number_of_ranks());
  refuse_too_many(program, number_of_ranks(), grid, long{grid} * grid);
  const int a = this_rank() % q, b = this_rank() / q;
  const auto rank_of = [q](int x, int y) { return modulo(x, q) + q * modulo(y, q); };
  Domain domain{grid,
                {q, q, q},
                {{rank_of(a - 1, b), rank_of(a + 1, b)},
                 {rank_of(a, b - 1), rank_of(a, b + 1)},
                 {rank_of(a + 1, b + 1), rank_of(a - 1, b - 1)}},
                {}};
  for (int z = 0; z < q; ++z) {
    domain.subdomains.push_back(make_subdomain(domain, {(a + z) % q, (b + z) % q, z}, 0));
  }
  return domain;
}

Domain pencils(const std::string& program, int grid) {
  const int exponent = require_power_of_two(program, number_of_ranks());
  const int px = 1 << (exponent / 2), py = 1 << (exponent - exponent / 2);
  const long side = std::bit_floor(static_cast<unsigned>(grid));
  refuse_too_many(program, number_of_ranks(), grid, side * side);
  const int x = this_rank() % px, y = this_rank() / px;
  const auto rank_of = [px, py](int x, int y) {
    const bool inside = x >= 0 && x < px && y >= 0 && y < py;
    return inside ? x + px * y : MPI_PROC_NULL;
  };
  Domain domain{grid,
                {px, py, 1},
                {{rank_of(x - 1, y), rank_of(x + 1, y)},
                 {rank_of(x, y - 1), rank_of(x, y + 1)},
                 {MPI_PROC_NULL, MPI_PROC_NULL}},
                {}};
  domain.subdomains.push_back(make_subdomain(domain, {x, y, 0}, 1));
  return domain;
}

Exchange::Exchange(Domain& domain) : domain_(domain), rounds_(1) {
  for (int d = 0; d < 3; ++d) {
    const int layers = domain.layers[d];
    if (domain.grid / layers < Subdomain::kGhosts) rounds_ = 2;
    for (int side = 0; side < 2; ++side) {
      for (int layer = 0; layer < layers; ++layer) {
        if (layer == (side == 0 ? 0 : layers - 1)) continue;
        for (Subdomain& subdomain : domain.subdomains) {
          if (subdomain.layer[d] == layer) faces_[d][side].subdomains.push_back(&subdomain);
        }
      }
    }
  }
}

void Exchange::run() {
  const int layers = Subdomain::kGhosts / rounds_;
  for (int depth = 0; depth < Subdomain::kGhosts; depth += layers) exchange_layers(depth, layers);
}

// The layers from `depth` on below each face. They may be ghosts of a thin subdomain, filled in the
// round before.
void Exchange::exchange_layers(int depth, int layers) {
  std::vector<MPI_Request> requests;
  for (int d = 0; d < 3; ++d) {
    for (int side = 0; side < 2; ++side) start(d, side, depth, layers, requests);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (int d = 0; d < 3; ++d) {
    for (int side = 0; side < 2; ++side) {
      const double* from = faces_[d][side].incoming.data();
      for (Subdomain* subdomain : faces_[d][side].subdomains) {
        const int first = side == 0 ? -depth - layers : subdomain->size[d] + depth;
        for_rows(*subdomain, Slab(*subdomain, d, first, first + layers),
                 [&](double* row, long length) {
                   std::copy_n(from, length, row);
                   from += length;
                 });
      }
    }
  }
}

void Exchange::start(int d, int side, int depth, int layers, std::vector<MPI_Request>& requests) {
  Faces& faces = faces_[d][side];
  if (faces.subdomains.empty()) return;
  faces.outgoing.clear();
  for (Subdomain* subdomain : faces.subdomains) {
    const int first = side == 0 ? depth : subdomain->size[d] - depth - layers;
    for_rows(*subdomain, Slab(*subdomain, d, first, first + layers), [&](double* row, long length) {
      faces.outgoing.insert(faces.outgoing.end(), row, row + length);
    });
  }
  const int count = static_cast<int>(faces.outgoing.size());
  faces.incoming.resize(count);
  const int other = domain_.neighbour[d][side];
  MPI_Request receive, send;
  MPI_Irecv(faces.incoming.data(), count, MPI_DOUBLE, other, 2 * d + 1 - side, MPI_COMM_WORLD,
            &receive);
  MPI_Isend(faces.outgoing.data(), count, MPI_DOUBLE, other, 2 * d + side, MPI_COMM_WORLD, &send);
  requests.push_back(receive);
  requests.push_back(send);
}

State residual_norms(const Domain& domain) {
  return norms(domain, [](const Subdomain& subdomain, int i, int j, int k, State& sums) {
    const double* r = &subdomain.residual[kStates * subdomain.residual_at.at(i, j, k)];
    for (int m = 0; m < kStates; ++m) sums[m] += r[m] * r[m];
  });
}

State error_norms(const Domain& domain) {
  return norms(domain, [](const Subdomain& subdomain, int i, int j, int k, State& sums) {
    const State exact = exact_solution(subdomain.coordinate(0, i), subdomain.coordinate(1, j),
                                       subdomain.coordinate(2, k));
    const double* u = &subdomain.state[kStates * subdomain.state_at.at(i, j, k)];
    for (int m = 0; m < kStates; ++m) sums[m] += (u[m] - exact[m]) * (u[m] - exact[m]);
  });
}

}  // namespace sesame::workload::cfd
