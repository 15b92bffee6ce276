// tranche-sim: looks at a simulated machine and makes things happen on it.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/unknown_words.h"
#include "fmt/format.h"
#include "sim/cli/cli.h"
#include "sim/machine/identity.h"

namespace tranche::sim {

std::shared_ptr<Simulation> Cli::open() {
  auto sim = Simulation::open(machine);
  if (sim) return *sim;
  fmt::print(stderr, "tranche-sim: {}\n", sim.error().message());
  exit_code = 3;
  return nullptr;
}

void Cli::report(const Result<void>& result) {
  if (result) return;
  fmt::print(stderr, "tranche-sim: {}\n", result.error().message());
  exit_code = 1;
}

Result<std::uint32_t> find_gpu(const State& state, const std::string& text) {
  const auto pci = parse_pci(text);
  std::string known;
  for (std::uint32_t i = 0; i < state.gpu_count; ++i) {
    const Gpu& gpu = state.gpus[i];
    if (text == std::to_string(i) || text == gpu.uuid) return i;
    if (pci && pci->domain == gpu.pci.domain && pci->bus == gpu.pci.bus &&
        pci->device == gpu.pci.device) {
      return i;
    }
    known += fmt::format("{}{} ({})", i == 0 ? "" : ", ", i, gpu.uuid);
  }
  return fail(Code::kNotFound, fmt::format("no GPU '{}' on {}", text, state.machine),
              state.gpu_count == 0 ? "this machine has none" : "there are: " + known);
}

}  // namespace tranche::sim

int main(int argc, char** argv) try {
  using namespace tranche::sim;
  CLI::App app{"Looks at a simulated GPU machine and makes things happen on it.", "tranche-sim"};
  app.footer(
      "Examples:\n"
      "  # The machine as it is now\n"
      "  tranche-sim --machine sim/machines/l20.yaml show\n"
      "  # The first GPU falls off the bus, and comes back\n"
      "  tranche-sim fault lost --gpu 0\n"
      "  tranche-sim clear\n"
      "  # Another process takes memory and time of it\n"
      "  tranche-sim occupy --gpu 0 --memory 315Mi --util 100\n\n"
      "Exit codes: 0 done, 1 refused, 2 usage, 3 no machine. Machines: sim/machines/*.yaml.");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every command and exit");
  Cli cli{.machine = options_from_environment()};
  app.add_option("--machine", cli.machine.machine, "Machine file [TRANCHE_SIM]");
  app.add_option(
      "--state", cli.machine.state,
      "State shared by all processes of the machine [TRANCHE_SIM_STATE; default: one for "
      "each user and machine file]");
  add_show(app, cli);
  add_fault_commands(app, cli);
  add_mig_commands(app, cli);
  add_occupy(app, cli);
  add_root(app, cli);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return 0;
    // CLI11 does not say which words are unknown, and which were probably meant.
    std::fputs(tranche::unknown_words_of(app).c_str(), stderr);
    return 2;
  }
  return cli.exit_code;
} catch (const std::exception& error) {
  // Thrown by CLI11 or the C++ library: out of memory, or a mistake in this program.
  std::fputs("tranche-sim: ", stderr);
  std::fputs(error.what(), stderr);
  std::fputs("\n", stderr);
  return 1;
}
