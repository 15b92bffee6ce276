#include "arbiter/places.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace tranche::arbiter {

Places Places::of_this_process() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) {
    return Places(std::numeric_limits<std::size_t>::max() / 4);
  }
  // A very low limit is divided all the same: half of it is for the others.
  const auto all = static_cast<std::size_t>(files.rlim_cur);
  return Places((all - std::min(all / 2, kOthers)) / kDescriptors);
}

}  // namespace tranche::arbiter
