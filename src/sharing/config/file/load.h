#pragma once
// From text to Config: combines file, flags and environment with NVIDIA's precedence
// (flag > environment > file > default, per field), collects all errors, then validates.
//
//   text --yaml--> tree --read_file.h--> Settings --merge.h--> effective Settings --validate.h-->
//   --settle.h--> Config
//
// Messages read "file:line: field: what; remedy". Where NVIDIA's programs have their own phrase, it
// comes first and the place follows in brackets ("unknown MIG strategy: x (flag --mig-strategy);
// ..."), so that users who search logs for NVIDIA's error chain find it. Pure.

#include <string>
#include <string_view>
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
  // indented, null for unset fields; includes `tranche` only if one of our fields is set.
  std::string json;
};

// The error's `what` lists every problem, one per line. kInvalidArgument: the file, a flag or a
// variable could not be read. kFailedPrecondition: all could be read, and a rule is broken.
Result<Loaded> load(const Sources& sources);
// What load() warns of, also where it refuses the configuration: an unknown key next to the error
// that the right one is missing.
std::vector<Warning> warnings_of(const Sources& sources);

// The one rule that depends on the machine, and is therefore checked later: CDI strategies need
// NVML. load() checks all others, so that `tranche lint` reports the same errors as the agent.
struct MachineFacts {
  bool nvml_loadable = true;
};
Result<void> validate_on_machine(const Config& config, const MachineFacts& facts);

// The start of the error for a configuration whose text cannot be read (config/file/source.h).
inline constexpr std::string_view kNoConfigText = "configuration";

// The message that a program prints when it exits because of `error` (from source.h, load or
// validate_on_machine): the message after NVIDIA's error chain, such as "error starting plugins:
// unable to validate flags: ".
std::string startup_failure(const Sources& sources, const Error& error);

}  // namespace tranche::config
