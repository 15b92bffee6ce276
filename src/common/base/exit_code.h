#pragma once
// The programs' exit codes (docs/reference/commands.md). NVIDIA's programs, and `tranche agent` in
// their place, exit with 1 wherever this says 2.

namespace tranche {

enum ExitCode : int {
  kExitFine = 0,
  kExitFinding = 1,      // done, and something is wrong: refused, not in force, not found
  kExitUsage = 2,        // the command line or a setting is wrong; nothing was done or queried
  kExitUnreachable = 3,  // the API server, GPU, driver or machine cannot be reached
};

}  // namespace tranche
