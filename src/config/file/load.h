#pragma once
// From text to Config: file, flags and environment put together with NVIDIA's precedence
// (flag > environment > file > default, per field), all errors gathered, then validated.
//
//   text --yaml--> tree --read_file.h--> Settings --merge.h--> effective Settings --validate.h-->
//   --settle.h--> Config
//
// Messages read "file:line: field: what; remedy", "flag --x: ..." or "environment X: ...". They
// contain NVIDIA's own phrase where it has one, so that users who search logs for it still find it.
// Pure.

#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "config/flags/sources.h"

namespace tranche::config {

struct Warning {
  std::string message;
  bool operator==(const Warning&) const = default;
};

struct Loaded {
  Config config;
  std::vector<Warning> warnings;
  // The effective configuration as NVIDIA prints it after "Running with config:": JSON, 2-space
  // indented, null for what is unset; with `tranche` only when something of ours is set.
  std::string json;
};

// The error's `what` holds every problem, one on each line. kInvalidArgument: the file, a flag or a
// variable could not be read. kFailedPrecondition: all could be read, and a rule is broken.
Result<Loaded> load(const Sources& sources);

// The rules that depend on the machine and are therefore checked later: CDI strategies need NVML,
// and not every discovery strategy is supported.
struct MachineFacts {
  bool nvml_loadable = true;
};
Result<void> validate_on_machine(const Config& config, const MachineFacts& facts);

// What a program that ends because of `error` (from load or validate_on_machine) prints: NVIDIA's
// chain of causes ("error starting plugins: unable to load config: ...") before each line of it.
std::string startup_failure(const Sources& sources, const Error& error);

}  // namespace tranche::config
