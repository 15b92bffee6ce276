#pragma once
// Flags of tranche-load, which CLI11 reads into the values of this room. The adders throw nothing.
// A wrong value from a user becomes a CLI::ValidationError, which CLI11 turns into a usage message.

#include <CLI/CLI.hpp>
#include <string>

#include "load/load.h"

namespace tranche::load {

enum ExitCode { kFine = 0, kFinding = 1, kUsage = 2, kNoGpu = 3 };

void add_duration(CLI::App& app, const std::string& flags, nanoseconds& out,
                  const std::string& help);
void add_size(CLI::App& app, const std::string& flags, Bytes& out, const std::string& help);
// --memory, --family, --chunk
void add_memory(CLI::App& app, Load& load);
// --device, --driver, --time
void add_machine(CLI::App& app, Load& load);
// --spin, --fill, --rounds-per-us
void add_kernels(CLI::App& app, Load& load);
void add_output(CLI::App& app, std::string& format);
// What is printed with -o json or yaml; `json`: the document.
std::string in_form(const std::string& json, const std::string& format);

// Add the commands. A command stores its exit code in `exit_code`.
void add_patterns(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);

}  // namespace tranche::load
