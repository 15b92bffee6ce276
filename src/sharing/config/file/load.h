#pragma once
// From text to Config: file, flags and environment put together with NVIDIA's precedence
// (flag > environment > file > default, per field), all errors gathered, then validated.
//
//   text --yaml--> tree --read_file.h--> Settings --merge.h--> effective Settings --validate.h-->
//   --settle.h--> Config
//
// Messages read "file:line: field: what; remedy". Where NVIDIA's programs have a phrase of their
// own it comes first, and the place stands in brackets after it ("unknown MIG strategy: x (flag
// --mig-strategy); ..."): users who search logs for NVIDIA's chain of causes find it. Pure.

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
  // indented, null for what is unset; with `tranche` only when something of ours is set.
  std::string json;
};

// The error's `what` holds every problem, one on each line. kInvalidArgument: the file, a flag or a
// variable could not be read. kFailedPrecondition: all could be read, and a rule is broken.
Result<Loaded> load(const Sources& sources);

// The one rule that depends on the machine, and is therefore checked later: CDI strategies need
// NVML. All others are load()'s, so that `tranche lint` says what the agent says.
struct MachineFacts {
  bool nvml_loadable = true;
};
Result<void> validate_on_machine(const Config& config, const MachineFacts& facts);

// How the error of a configuration begins whose text cannot be read (config/file/source.h).
inline constexpr std::string_view kNoConfigText = "configuration";

// What a program that ends because of `error` (from source.h, load or validate_on_machine) prints:
// the message after NVIDIA's chain of causes, such as "error starting plugins: unable to validate
// flags: ".
std::string startup_failure(const Sources& sources, const Error& error);

}  // namespace tranche::config
