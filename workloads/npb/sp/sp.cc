// NPB pseudo-application SP (NPB specification, RNR-94-007, 3.3.4): the diagonal form of Beam and
// Warming's approximate factorisation, scalar pentadiagonal systems for each line of the grid.
#include <mpi.h>

#include <string>

#include "kit/program.h"
#include "npb/cfd/factored.h"
#include "npb/sp/characteristic_solver.h"

namespace sesame::workload::cfd {
namespace {

constexpr Operations kOperations = {881.174, -4683.91, 11484.5, -19272.4};
constexpr Class kClasses[] = {
    {"S",
     12,
     100,
     1.5e-2,
     {2.7470315451339479e-02, 1.0360746705285417e-02, 1.6235745065095532e-02,
      1.5840557224455615e-02, 3.4849040609362460e-02},
     {2.7289258557377227e-05, 1.0364446640837285e-05, 1.6154798287166471e-05,
      1.5750704994480102e-05, 3.4177666183390531e-05}},
    {"W",
     36,
     400,
     1.5e-3,
     {0.1893253733584e-02, 0.1717075447775e-03, 0.2778153350936e-03, 0.2887475409984e-03,
      0.3143611161242e-02},
     {0.7542088599534e-04, 0.6512852253086e-05, 0.1049092285688e-04, 0.1128838671535e-04,
      0.1212845639773e-03}},
    {"A",
     64,
     400,
     1.5e-3,
     {2.4799822399300195, 1.1276337964368832, 1.5028977888770491, 1.4217816211695179,
      2.1292113035138280},
     {1.0900140297820550e-04, 3.7343951769282091e-05, 5.0092785406541633e-05,
      4.7671093939528255e-05, 1.3621613399213001e-04}},
    {"B",
     102,
     400,
     1.0e-3,
     {0.6903293579998e+02, 0.3095134488084e+02, 0.4103336647017e+02, 0.3864769009604e+02,
      0.5643482272596e+02},
     {0.9810006190188e-02, 0.1022827905670e-02, 0.1720597911692e-02, 0.1694479428231e-02,
      0.1847456263981e-01}},
};

void run(Report& report, const std::string& name, int steps) {
  const Class& problem = find_class(kClasses, name);
  if (steps <= 0) steps = problem.steps;
  Factored<CharacteristicSolver> sp("sp", problem);
  MPI_Barrier(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  for (int step = 0; step < steps; ++step) sp.step();
  describe(report, problem, steps, largest(MPI_Wtime() - began), kOperations);
  sp.finish(report, problem, steps);
}

}  // namespace
}  // namespace sesame::workload::cfd

int main(int argc, char** argv) {
  sesame::workload::Program program("sp", "NPB pseudo-application SP: scalar pentadiagonal solver");
  std::string name = "S";
  int steps = 0;
  program.arguments().add("--class", name, "problem class: S, W, A or B");
  program.arguments().add("--steps", steps, "time steps; 0: as published for the class");
  return program.run(argc, argv, [&](sesame::workload::Report& report) {
    sesame::workload::cfd::run(report, name, steps);
  });
}
