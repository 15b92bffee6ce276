#pragma once
// Kubelet's requests to a driver: to prepare claims before the containers that use them start, and
// to undo it when the last of them has ended. dra/server.h serves it.

#include <string>
#include <vector>

#include "base/result.h"
#include "dra/prepared.h"

namespace tranche::dra {

// Kubelet's identification of a claim.
struct ClaimName {
  std::string ns;
  std::string name;
  std::string uid;
};

// Port. Called by several server threads at once.
class Driver {
 public:
  virtual ~Driver() = default;
  // Everything that the claim's containers need is on this node when it returns. Repeating it for
  // the same claim gives the same result. Kubelet shows an error on the Pod, and tries again.
  virtual Result<PreparedClaim> prepare(const ClaimName& claim) = 0;
  // Undoes it. A claim that is not prepared, or never was, is not an error. The object may be gone,
  // and a Pod does not end before this has succeeded.
  virtual Result<void> unprepare(const ClaimName& claim) = 0;
};

}  // namespace tranche::dra
