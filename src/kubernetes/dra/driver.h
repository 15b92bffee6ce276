#pragma once
// What kubelet asks of a driver: to prepare claims before the containers that use them start, and
// to undo it when the last of them has ended. dra/server.h serves it.

#include <string>
#include <vector>

#include "base/result.h"
#include "dra/prepared.h"

namespace tranche::dra {

// A claim as kubelet names it.
struct ClaimName {
  std::string ns;
  std::string name;
  std::string uid;
};

// Port. Threads of the server call it, several at once.
class Driver {
 public:
  virtual ~Driver() = default;
  // All that the claim's containers need is on this node when it returns. The same claim again
  // gives the same. Kubelet shows an error on the Pod, and tries again.
  virtual Result<PreparedClaim> prepare(const ClaimName& claim) = 0;
  // Undoes it. A claim that is not prepared, or never was, is no error. The object may be gone, and
  // a Pod does not end before this has succeeded.
  virtual Result<void> unprepare(const ClaimName& claim) = 0;
};

}  // namespace tranche::dra
