#pragma once
// A process's first context on a device. Its memory cannot be measured like that of later ones
// (unreported.h), because free memory can only be queried in a context. Until NVML has reported it,
// a guess in the process's slot stands in for it, so that siblings which start at the same moment
// see it. A process that finds no room meanwhile waits for NVML (released.h), and is refused only
// because of reported values: a guess refuses nobody.

#include <cstdint>

#include "interpose/tenants.h"

namespace tranche::interpose {

class FirstContext {
 public:
  // Call before it is created. Waits for NVML if that could make room, at most kToldLongest.
  // Nothing is guessed for nullptr, without a limit, or if nobody reads NVML.
  explicit FirstContext(const Part* part);
  FirstContext(const FirstContext&) = delete;
  FirstContext& operator=(const FirstContext&) = delete;
  ~FirstContext();

  // Charges the guessed size. Only once.
  void charge();
  // It was created: the charge stays until NVML has reported it.
  void made();

 private:
  const Part* part_ = nullptr;
  std::uint64_t guess_ = 0;  // bytes
  bool is_charged_ = false;
};

}  // namespace tranche::interpose
