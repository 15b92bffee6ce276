#pragma once
// Memory that was exported and is let go here. It is there as long as anybody holds it: an import
// in this process or another one, a descriptor. The driver tells the exporter nothing of that, and
// an importer cannot know whose memory it has. So nobody is charged for an import: workers of one
// tenant that share memory would be charged twice. NVML counts it at its maker as long as that one
// has it, and then at a process that imported it.
//
// So what is let go stays charged until NVML has told who holds it now (three readings). Meanwhile
// the slot says that it is let go (wire.h), and the arbiter does not take it for this process's: if
// others hold it, it becomes `outside` before the charge goes. Who finds no room waits for that.
// Where nobody reads NVML the charge goes after kToldLongest.

#include <cstdint>

#include "interpose/tenants.h"

namespace tranche::interpose {

// How NVML is waited for.
inline constexpr std::uint64_t kToldLongest = 2'000'000'000;  // ns that NVML is waited for
inline constexpr std::uint64_t kAskNvmlEvery = 100'000'000;   // ns
inline constexpr std::uint64_t kToldNap = 5'000'000;          // ns
// One may be under way, and two have to agree.
inline constexpr std::uint32_t kReadingsThatTell = 3;

// One wait for NVML. Who waits takes turns until it is told, or until nobody tells any more.
class WaitForNvml {
 public:
  WaitForNvml();
  bool is_over() const;  // nobody has told for kToldLongest
  // Asks NVML from time to time, gives back what it has told of, and naps.
  void take_turn();

 private:
  std::uint64_t began_;      // ns
  std::uint64_t asked_ = 0;  // ns; 0: not yet
};

// Instead of give_back(): `bytes` charged to the part were exported, and are let go.
void give_back_once_told(const Part& part, std::uint64_t bytes);
// Gives back what NVML has told of. true: there is more.
bool settle_let_go();
// Whether a process of the tenant has let go of something there that NVML has not told of.
bool is_untold(const Part& part);
// Waits for NVML where that could make room for `bytes`, at most kToldLongest. true: it told.
bool wait_for_let_go(const Part& part, std::uint64_t bytes);

// In a forked child: nothing of it is there.
void forget_let_go();

}  // namespace tranche::interpose
