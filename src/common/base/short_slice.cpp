#include "base/short_slice.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace tranche {
namespace {

// The argument of sched_setattr(2) in its first version. The C library does not declare it.
struct SchedulerAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime;
  std::uint64_t deadline;
  std::uint64_t period;
};
static_assert(sizeof(SchedulerAttributes) == 48);

}  // namespace

void ask_for_short_slices() {
  SchedulerAttributes attributes{};
  constexpr unsigned kNormal = 0;  // SCHED_OTHER
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != kNormal) return;  // the administrator chose another policy
  attributes.runtime = static_cast<std::uint64_t>(kShortSlice.count());
  // A refusal is ignored: the thread then runs as on an older kernel.
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace tranche
