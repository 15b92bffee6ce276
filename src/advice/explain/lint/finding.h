#pragma once
// What lint says of a file. Values.

#include <string>
#include <vector>

namespace tranche::lint {

enum class Level {
  kError,    // it is refused, or never does what it says
  kWarning,  // it may not do what its author means
  kNote,     // nothing is wrong; or something was not looked at
};

// "error", "warning", "note".
const char* to_string(Level level);

struct Finding {
  Level level = Level::kError;
  int line = 0;        // of the file; 0: none
  std::string object;  // "ResourceClaim training-gpu"; empty: it is no object of Kubernetes
  std::string path;    // "spec.devices.requests[0].count"; empty: the document itself
  std::string what;
  std::string fix;         // what to do; may be empty
  bool corrected = false;  // in the corrected text
  bool operator==(const Finding&) const = default;
};

}  // namespace tranche::lint
