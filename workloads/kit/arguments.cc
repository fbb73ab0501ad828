#include "kit/arguments.h"

#include <CLI/CLI.hpp>

#include "kit/byte_sizes.h"

namespace sesame::workload {
namespace {

// Converts an option's text to a number of bytes.
std::function<std::string(std::string)> size_of(const std::string& option) {
  return [option](const std::string& text) { return std::to_string(parse_bytes(option, text)); };
}

}  // namespace

struct Arguments::Parser {
  CLI::App app;
};

Arguments::Arguments(const std::string& name, const std::string& purpose)
    : parser_(std::make_unique<Parser>()) {
  parser_->app.name(name);
  parser_->app.description(purpose);
}

Arguments::~Arguments() = default;

void Arguments::add(const std::string& option, int& value, const std::string& meaning) {
  parser_->app.add_option(option, value, meaning)->capture_default_str();
}

void Arguments::add(const std::string& option, long& value, const std::string& meaning) {
  parser_->app.add_option(option, value, meaning)->capture_default_str();
}

void Arguments::add(const std::string& option, double& value, const std::string& meaning) {
  parser_->app.add_option(option, value, meaning)->capture_default_str();
}

void Arguments::add(const std::string& option, std::string& value, const std::string& meaning) {
  parser_->app.add_option(option, value, meaning)->capture_default_str();
}

void Arguments::add(const std::string& option, bool& value, const std::string& meaning) {
  parser_->app.add_flag(option, value, meaning);
}

void Arguments::add_size(const std::string& option, long& value, const std::string& meaning) {
  parser_->app.add_option(option, value, meaning)
      ->default_str(format_bytes(value))
      ->transform(size_of(option));
}

void Arguments::add_sizes(const std::string& option, std::vector<long>& values,
                          const std::string& meaning) {
  parser_->app.add_option(option, values, meaning)
      ->capture_default_str()
      ->delimiter(',')
      ->transform(size_of(option));
}

std::string Arguments::parse(int argc, char** argv) {
  try {
    parser_->app.parse(argc, argv);
    return "";
  } catch (const CLI::CallForHelp&) {
    return parser_->app.help();
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace sesame::workload
