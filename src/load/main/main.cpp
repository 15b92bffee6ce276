// tranche-load: puts load on a GPU through the driver API, and measures how fast the work goes.

#include <cstdio>
#include <exception>
#include <string_view>

#include "load/main/options.h"
#include "load/worker.h"

namespace tranche::load {
namespace {

int run(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "worker") return run_worker(argv[2]);
  CLI::App app{"Puts load on a GPU, and measures what comes of it.", "tranche-load"};
  app.footer(
      "Sizes: 315Mi, 2Gi. Durations: 200us, 1.5ms, 10s.\n"
      "Exit codes: 0 fine, 1 a process failed or was refused something, 2 usage, 3 no GPU or no "
      "driver.");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every command and exit");
  int exit_code = kFine;
  add_patterns(app, exit_code);
  add_compare(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kFine : kUsage;
  }
  return exit_code;
}

}  // namespace
}  // namespace tranche::load

int main(int argc, char** argv) {
  try {
    return tranche::load::run(argc, argv);
  } catch (const std::exception& error) {
    // Thrown by CLI11 or the C++ library: out of memory, or a mistake in this program.
    std::fputs("tranche-load: ", stderr);
    std::fputs(error.what(), stderr);
    std::fputs("\n", stderr);
    return tranche::load::kFinding;
  }
}
