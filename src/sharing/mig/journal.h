#pragma once
// journal/v1: what a change of a layout needs to know to go on after a crash, a reboot or a lost
// disk. Stored before each phase begins, on disk and on the Node (cluster/mig_change.h). It has no
// list of steps done: who goes on reads the hardware and makes the way from there (mig/apply.h).

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/time.h"
#include "mig/layout.h"

namespace tranche::mig {

struct Journal {
  enum class Phase {
    kAsking,     // nothing is changed yet
    kDraining,   // nothing is changed yet, but Pods are evicted
    kChanging,   // on the way to `to`
    kVerifying,  // in `to`; kubelet is to offer it
    kUndoing,    // on the way back to `from`
    kFinished,   // in `to`, or in `from` where there is `trouble`
  };
  std::string id;
  std::string layout;  // the name in the label
  Phase phase = Phase::kAsking;
  Layout from;  // of the GPUs that change, with what they had when the change began
  Layout to;
  cluster::WallTime started;
  cluster::WallTime deadline;  // of the phase
  std::string boot;            // the machine's boot id when the change began
  bool touched = false;        // it came to the hardware
  std::string trouble;         // why it is undone; empty: it is not
  bool operator==(const Journal&) const = default;
};

// Bytes of text. A journal of 16 GPUs has a quarter of it.
inline constexpr std::size_t kLongestJournal = std::size_t{48} << 10U;

std::string_view to_string(Journal::Phase phase);
// Times are kept to the microsecond, and the first 2000 bytes of `trouble`.
std::string encode(const Journal& journal);
// kInvalidArgument: torn, another version, or a text that can be none of ours (others may write the
// annotation): too long, layouts of different GPUs, numbers without sense. That the instances fit
// on the GPU is not looked at: the driver says it.
Result<Journal> decode_journal(std::string_view text);

}  // namespace tranche::mig
