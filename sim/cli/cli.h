#pragma once
// Shared parts of tranche-sim's subcommands. Each subcommand has its own file and adds itself to
// the program; its callback throws nothing and stores the exit code.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "sim/state/simulation.h"

namespace CLI {
class App;
}

namespace tranche::sim {

struct Cli {
  OpenOptions machine;  // from the environment, then --machine and --state
  int exit_code = 0;

  // The machine, or a message on stderr and exit code 3.
  std::shared_ptr<Simulation> open();
  // Prints the error, if there is one, and sets exit code 1.
  void report(const Result<void>& result);
};

// The GPU named by index, UUID or PCI address. kNotFound lists the existing ones.
Result<std::uint32_t> find_gpu(const State& state, const std::string& text);

void add_show(CLI::App& app, Cli& cli);
void add_fault_commands(CLI::App& app, Cli& cli);
void add_mig_commands(CLI::App& app, Cli& cli);
void add_occupy(CLI::App& app, Cli& cli);
void add_root(CLI::App& app, Cli& cli);

// The whole machine as JSON, for `show -o json`.
std::string render_json(const Simulation& sim);

}  // namespace tranche::sim
