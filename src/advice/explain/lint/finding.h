#pragma once
// Lint's findings about a file. Values.

#include <string>
#include <vector>

namespace tranche::lint {

enum class Level {
  kError,    // it is refused, or never has its intended effect
  kWarning,  // it may not do what its author intends
  kNote,     // nothing is wrong; or something was not checked
};

// "error", "warning", "note".
const char* to_string(Level level);

struct Finding {
  Level level = Level::kError;
  int line = 0;        // of the file; 0: none
  std::string object;  // "ResourceClaim training-gpu"; empty: not a Kubernetes object
  std::string path;    // "spec.devices.requests[0].count"; empty: the document itself
  std::string what;
  std::string fix;         // what to do; may be empty
  bool corrected = false;  // corrected in the output text
  bool operator==(const Finding&) const = default;
};

}  // namespace tranche::lint
