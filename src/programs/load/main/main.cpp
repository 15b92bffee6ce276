// tranche-load: puts load on a GPU through the driver API, and measures how fast the work goes.

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/unknown_words.h"
#include "load/main/options.h"
#include "load/worker.h"

namespace tranche::load {
namespace {

int run(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "worker") return run_worker(argv[2]);
  CLI::App app{"Puts load on a GPU, and measures what comes of it.", "tranche-load"};
  app.footer(
      "Examples:\n"
      "  # Hold 4 GiB of the first GPU until ended\n"
      "  tranche-load hold --memory 4Gi\n"
      "  # Two processes that want half of the GPU's time each, for a minute\n"
      "  tranche-load compute --processes 2 --duty 50 --duration 1m\n"
      "  # How long requests take beside others, under three ways of sharing\n"
      "  tranche-load compare --mechanisms time-slicing,mps,limits\n\n"
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
    if (app.exit(error) == 0) return kFine;
    // CLI11 does not say which words are unknown, and which were probably meant.
    std::fputs(unknown_words_of(app).c_str(), stderr);
    return kUsage;
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
