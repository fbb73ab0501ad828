// The kit for programs in Fortran: what kit/fortran.f90 declares, in C's calling convention.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kit/program.h"
#include "kit/random.h"

namespace {

using sesame::workload::NpbRandom;
using sesame::workload::Program;
using sesame::workload::Report;
using sesame::workload::UsageError;

// A Fortran program has one of each; its main program starts them and calls everything else.
std::unique_ptr<Program> program;
std::map<std::string, std::string> texts;
std::vector<std::string> arguments;
Report* report = nullptr;
std::string refusal;

// No exception may pass through Fortran: a refusal is kept until its procedure has returned.
void run_body(void (*body)(), Report& mine) {
  report = &mine;
  body();
  report = nullptr;
  if (!refusal.empty()) throw UsageError(refusal);
}

}  // namespace

extern "C" {

void sesame_kit_start(const char* name, const char* purpose) {
  program = std::make_unique<Program>(name, purpose);
}

void sesame_kit_option_integer(const char* option, int* value, const char* meaning) {
  program->arguments().add(option, *value, meaning);
}

void sesame_kit_option_real(const char* option, double* value, const char* meaning) {
  program->arguments().add(option, *value, meaning);
}

void sesame_kit_option_text(const char* option, const char* meaning) {
  program->arguments().add(option, texts[option], meaning);
}

const char* sesame_kit_text(const char* option) { return texts[option].c_str(); }

void sesame_kit_argument(const char* text) { arguments.emplace_back(text); }

int sesame_kit_run(void (*body)()) {
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const int status = program->run(static_cast<int>(arguments.size()), words.data(),
                                  [body](Report& mine) { run_body(body, mine); });
  program.reset();
  return status;
}

void sesame_kit_refuse(const char* text) { refusal = text; }

void sesame_kit_parameter(const char* name, double value) { report->parameter(name, value); }
void sesame_kit_time(double seconds) { report->time(seconds); }
void sesame_kit_figure(const char* name, double value, const char* unit) {
  report->figure(name, value, unit);
}
void sesame_kit_check(const char* name, double value, double expected, double tolerance) {
  report->check(name, value, expected, tolerance);
}
void sesame_kit_column(const char* table, const char* column, const char* unit, int count,
                       const double* values) {
  report->column(table, column, unit, std::vector<double>(values, values + count));
}

// Numbers of NPB's generator, in (0, 1).
void sesame_kit_random(long start, int count, double* values) {
  NpbRandom random(start);
  for (int i = 0; i < count; ++i) values[i] = random.next();
}

}  // extern "C"
