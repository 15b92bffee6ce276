#include "holdings/holdings.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/first_few.h"

namespace tranche::holdings {
namespace {

constexpr std::size_t kMostNames = 16;

}  // namespace

template <class Pick>
Holdings Holdings::those(const Pick& pick) const {
  std::vector<Holding> found;
  std::ranges::copy_if(all_, std::back_inserter(found), pick);
  return Holdings(std::move(found));
}

Holdings Holdings::of_device(std::string_view uuid) const {
  // Its GPU is known from whoever holds it, or it is a GPU itself.
  Holding asked{.device = std::string(uuid), .gpu = std::string(uuid)};
  const auto same = std::ranges::find(all_, uuid, &Holding::device);
  if (same != all_.end() && !same->gpu.empty()) asked.gpu = same->gpu;
  return those([&](const Holding& one) { return overlap(one, asked); });
}

Holdings Holdings::of_pod(std::string_view ns, std::string_view pod) const {
  return those([&](const Holding& one) { return one.ns == ns && one.pod == pod; });
}

Holdings Holdings::conflicts(const Holding& wanted) const {
  return those([&](const Holding& one) { return excludes(one, wanted); });
}

std::string Holdings::describe() const { return describe_holders(all_); }

std::string describe_holders(std::span<const Holding> holdings) {
  std::set<std::string> names;
  bool unnamed = false;
  for (const Holding& holding : holdings) {
    if (!holding.pod.empty()) {
      names.insert(pod_name(holding));
    } else if (holding.wire == Wire::kClaim) {
      names.insert("claim " + holding.ns + '/' + holding.claim);
    } else {
      unnamed = true;
    }
  }
  std::vector<std::string_view> list(names.begin(), names.end());
  if (unnamed) list.emplace_back("a container that kubelet does not name");
  return first_few(list, kMostNames);
}

}  // namespace tranche::holdings
