// NPB kernel FT (NPB specification, RNR-94-007): the heat equation on a periodic grid, solved
// in the Fourier transform: one forward transform, then an inverse one for each point in time.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "kit/classes.h"
#include "kit/phases.h"
#include "kit/program.h"
#include "kit/random.h"
#include "npb/ft/spectrum.h"

namespace sesame::workload {
namespace {

// Published, one for each step.
constexpr Complex kChecksumsS[] = {
    {5.546087004964e+02, 4.845363331978e+02}, {5.546385409189e+02, 4.865304269511e+02},
    {5.546148406171e+02, 4.883910722336e+02}, {5.545423607415e+02, 4.901273169046e+02},
    {5.544255039624e+02, 4.917475857993e+02}, {5.542683411902e+02, 4.932597244941e+02}};
constexpr Complex kChecksumsW[] = {
    {5.673612178944e+02, 5.293246849175e+02}, {5.631436885271e+02, 5.282149986629e+02},
    {5.594024089970e+02, 5.270996558037e+02}, {5.560698047020e+02, 5.260027904925e+02},
    {5.530898991250e+02, 5.249400845633e+02}, {5.504159734538e+02, 5.239212247086e+02}};
constexpr Complex kChecksumsA[] = {
    {5.046735008193e+02, 5.114047905510e+02}, {5.059412319734e+02, 5.098809666433e+02},
    {5.069376896287e+02, 5.098144042213e+02}, {5.077892868474e+02, 5.101336130759e+02},
    {5.085233095391e+02, 5.104914655194e+02}, {5.091487099959e+02, 5.107917842803e+02}};
constexpr Complex kChecksumsB[] = {
    {5.177643571579e+02, 5.077803458597e+02}, {5.154521291263e+02, 5.088249431599e+02},
    {5.146409228649e+02, 5.096208912659e+02}, {5.142378756213e+02, 5.101023387619e+02},
    {5.139626667737e+02, 5.103976610617e+02}, {5.137423460082e+02, 5.105948019802e+02},
    {5.135547056878e+02, 5.107404165783e+02}, {5.133910925466e+02, 5.108576573661e+02},
    {5.132470705390e+02, 5.109577278523e+02}, {5.131197729984e+02, 5.110460304483e+02},
    {5.130070319283e+02, 5.111252433800e+02}, {5.129070537032e+02, 5.111968077718e+02},
    {5.128182883502e+02, 5.112616233064e+02}, {5.127393733383e+02, 5.113203605551e+02},
    {5.126691062020e+02, 5.113735928093e+02}, {5.126064276004e+02, 5.114218460548e+02},
    {5.125504076570e+02, 5.114656139760e+02}, {5.125002331720e+02, 5.115053595966e+02},
    {5.124551951846e+02, 5.115415130407e+02}, {5.124146770029e+02, 5.115744692211e+02}};

struct Class {
  const char* name;
  std::array<int, 3> points;
  std::span<const Complex> checksums;
};

constexpr Class kClasses[] = {
    {"S", {64, 64, 64}, kChecksumsS},
    {"W", {128, 128, 32}, kChecksumsW},
    {"A", {256, 256, 128}, kChecksumsA},
    {"B", {512, 256, 256}, kChecksumsB},
};
constexpr double kTolerance = 1e-12;
constexpr double kAlpha = 1e-6;
constexpr std::uint64_t kStart = 314159265;
constexpr int kSummed = 1024;  // points in a checksum

class Heat {
 public:
  explicit Heat(const Class& problem)
      : points_(problem.points),
        transform_(problem.points, phases_),
        spectrum_(transform_.local_size()),
        field_(transform_.local_size()) {}

  void start() {
    randomize();
    transform_.forward(field_);
    spectrum_ = field_;
    for (int axis = 0; axis < 3; ++axis) decay_[axis] = decay_of(axis);
  }

  Phases& phases() { return phases_; }

  // One step of time; the checksum of the field.
  Complex step() {
    decay();
    transform_.inverse(field_);
    return checksum();
  }

 private:
  void randomize() {
    const auto& [x, y, z] = transform_.in_space();
    Complex* out = field_.data();
    for (int k = 0; k < z.size; ++k) {
      for (int j = 0; j < y.size; ++j) {
        const long row = static_cast<long>(z.begin + k) * points_[1] + y.begin + j;
        NpbRandom random(kStart);
        random.skip(2 * row * points_[0]);
        for (int i = 0; i < x.size; ++i, ++out) {
          const double re = random.next();
          *out = {re, random.next()};
        }
      }
    }
  }

  // The factor of one step for this rank's wave numbers along one axis.
  std::vector<double> decay_of(int axis) const {
    const Spectrum::Share share = transform_.in_spectrum()[axis];
    const int points = points_[axis];
    std::vector<double> factors(share.size);
    for (int i = 0; i < share.size; ++i) {
      const int index = share.begin + i;
      const double wave = index < points / 2 ? index : index - points;
      factors[i] = std::exp(-4 * kAlpha * std::numbers::pi * std::numbers::pi * wave * wave);
    }
    return factors;
  }

  // The spectrum one step later, and a copy of it for the inverse transform.
  void decay() {
    Phases::Scope scope(phases_, decay_phase_);
    Complex* __restrict spectrum = spectrum_.data();
    Complex* __restrict copy = field_.data();
    const long row = static_cast<long>(decay_[0].size());
    for (double z : decay_[2]) {
      for (double y : decay_[1]) {
        const double* __restrict x = decay_[0].data();
        for (long i = 0; i < row; ++i) copy[i] = spectrum[i] *= z * y * x[i];
        spectrum += row;
        copy += row;
      }
    }
  }

  Complex checksum() const {
    const auto& [x, y, z] = transform_.in_space();
    Complex sum = 0;
    for (int j = 1; j <= kSummed; ++j) {
      const int row = 3 * j % points_[1] - y.begin, plane = 5 * j % points_[2] - z.begin;
      if (row < 0 || row >= y.size || plane < 0 || plane >= z.size) continue;
      sum += field_[(static_cast<long>(plane) * y.size + row) * x.size + j % points_[0]];
    }
    Complex total;
    MPI_Allreduce(&sum, &total, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total / (1.0 * points_[0] * points_[1] * points_[2]);
  }

  std::array<int, 3> points_;
  Phases phases_;
  int decay_phase_ = phases_.add("one step of the spectrum");
  Spectrum transform_;
  std::vector<Complex> spectrum_, field_;
  std::array<std::vector<double>, 3> decay_;
};

// As NPB counts them.
double operations(const Class& problem) {
  const double points = 1.0 * problem.points[0] * problem.points[1] * problem.points[2];
  const double steps = static_cast<double>(problem.checksums.size());
  return points *
         (14.8157 + 7.19641 * std::log(points) + (5.23518 + 7.21113 * std::log(points)) * steps);
}

void report_checksums(Report& report, const Class& problem, const std::vector<Complex>& sums) {
  std::vector<double> number, re, im;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::string step = std::to_string(i + 1);
    report.check("checksum " + step + ", real", sums[i].real(), problem.checksums[i].real(),
                 kTolerance);
    report.check("checksum " + step + ", imaginary", sums[i].imag(), problem.checksums[i].imag(),
                 kTolerance);
    number.push_back(static_cast<double>(i + 1));
    re.push_back(sums[i].real());
    im.push_back(sums[i].imag());
  }
  report.column("checksums", "step", "", number);
  report.column("checksums", "real", "", re);
  report.column("checksums", "imaginary", "", im);
}

void run(Report& report, const std::string& name) {
  const Class& problem = find_class(kClasses, name);
  Heat heat(problem);
  heat.start();  // untimed, to touch all memory
  heat.phases().reset();
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  heat.start();
  std::vector<Complex> sums;
  while (sums.size() < problem.checksums.size()) sums.push_back(heat.step());
  report.time(largest(MPI_Wtime() - began));
  const auto [x, y, z] = problem.points;
  report.parameter("class", problem.name);
  report.parameter("grid", std::to_string(x) + "x" + std::to_string(y) + "x" + std::to_string(z));
  report.parameter("steps", static_cast<long>(sums.size()));
  report.rate(operations(problem));
  heat.phases().report(report);
  report_checksums(report, problem, sums);
}

}  // namespace
}  // namespace sesame::workload

int main(int argc, char** argv) {
  sesame::workload::Program program("ft",
                                    "NPB kernel FT: heat equation by Fourier transforms in 3-D");
  std::string name = "S";
  program.arguments().add("--class", name, "problem class: S, W, A or B");
  return program.run(
      argc, argv, [&](sesame::workload::Report& report) { sesame::workload::run(report, name); });
}
