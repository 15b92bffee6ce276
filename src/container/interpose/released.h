#pragma once
// Memory that was exported and is released here. It exists as long as anyone holds it: an import in
// this process or another one, or a descriptor. The driver does not report this to the exporter,
// and an importer cannot know whose memory it has. So imports are not charged: workers of one
// tenant that share memory would be charged twice. NVML counts it for its creator as long as that
// one has it, and then for a process that imported it.
//
// So released memory stays charged until NVML has reported who holds it now (three readings during
// which nothing was charged or freed).
// Meanwhile the slot marks it as released (wire.h), and the arbiter does not count it for this
// process: if others hold it, it becomes `outside` before the charge is released. A process that
// finds no room waits for that. If nobody reads NVML the charge is released after kToldLongest.

#include <cstdint>

#include "interpose/tenants.h"

namespace tranche::interpose {

// Timing of waits for NVML.
inline constexpr std::uint64_t kToldLongest = 2'000'000'000;  // ns, longest wait for NVML
inline constexpr std::uint64_t kAskNvmlEvery = 100'000'000;   // ns
inline constexpr std::uint64_t kToldNap = 5'000'000;          // ns
// One may be in progress, and two have to agree.
inline constexpr std::uint32_t kReadingsThatTell = 3;

// One wait for NVML. The waiting thread takes turns until NVML has reported, or nothing reports any
// more.
class WaitForNvml {
 public:
  WaitForNvml();
  bool is_over() const;  // nothing was reported for kToldLongest
  // Requests an NVML reading from time to time, releases what was reported, and naps.
  void take_turn();

 private:
  std::uint64_t began_;      // ns
  std::uint64_t asked_ = 0;  // ns; 0: not yet
};

// Instead of give_back(): `bytes` charged to the part were exported, and are released now.
void give_back_once_reported(const Part& part, std::uint64_t bytes);
// Releases the charges that NVML has reported on. true: there are more.
bool settle_released();
// Whether a process of the tenant has released memory there that NVML has not reported on.
bool is_unreported(const Part& part);
// Waits for NVML if that could make room for `bytes`, at most kToldLongest. true: it reported.
bool wait_for_released(const Part& part, std::uint64_t bytes);

// In a forked child: discards all state.
void forget_released();

}  // namespace tranche::interpose
