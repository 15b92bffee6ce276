#pragma once
// What the programs tell by their exit codes (docs/reference/commands.md). NVIDIA's programs, and
// `tranche agent` in their place, end with 1 wherever this says 2.

namespace tranche {

enum ExitCode : int {
  kExitFine = 0,
  kExitFinding = 1,      // it was done, and something is wrong: refused, not in force, not found
  kExitUsage = 2,        // the command line or a setting is wrong; nothing was done or asked
  kExitUnreachable = 3,  // who was to be asked cannot be reached: API server, GPU, driver, machine
};

}  // namespace tranche
