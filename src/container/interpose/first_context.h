#pragma once
// A process's first context on a device. What it takes cannot be looked at as for later ones
// (untold.h), for free memory can be asked of a context alone. Until NVML has told of it a guess
// stands for it in the process's slot, so that siblings which begin at the same moment see it. Who
// finds no room meanwhile waits for NVML (let_go.h), and is refused by what is true then: a guess
// refuses nobody.

#include <cstdint>

#include "interpose/tenants.h"

namespace tranche::interpose {

class FirstContext {
 public:
  // Before it is made. Waits for NVML where that could make room, at most kToldLongest. Nothing is
  // guessed for nullptr, where there is no limit, and where nobody reads NVML.
  explicit FirstContext(const Part* part);
  FirstContext(const FirstContext&) = delete;
  FirstContext& operator=(const FirstContext&) = delete;
  ~FirstContext();

  // What it is taken to take, to be charged. Once only.
  void charge();
  // It was made: the charge stays until NVML has told.
  void made();

 private:
  const Part* part_ = nullptr;
  std::uint64_t guess_ = 0;  // bytes
  bool is_charged_ = false;
};

}  // namespace tranche::interpose
