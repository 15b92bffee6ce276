#include "dra/all_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

namespace tranche::dra {
namespace {

using cluster::SliceDevice;

// Everything that decides which devices match.
struct Criteria {
  std::vector<std::string> texts;

  // `name`: of an attribute or capacity, maybe with its domain ("resource.kubernetes.io/pciBusID").
  bool mention(std::string_view name) const {
    const auto last = name.substr(name.rfind('/') + 1);
    return std::ranges::any_of(texts, [&](const auto& text) { return text.contains(last); });
  }
};

// Whether a name with different values in both maps is mentioned.
template <class Map>
bool differ_in_what_counts(const Map& a, const Map& b, const Criteria& criteria) {
  const auto differs = [&](const Map& one, const Map& other) {
    return std::ranges::any_of(one, [&](const auto& entry) {
      const auto found = other.find(entry.first);
      const bool same = found != other.end() && found->second == entry.second;
      return !same && criteria.mention(entry.first);
    });
  };
  return differs(a, b) || differs(b, a);
}

bool match_alike(const SliceDevice& a, const SliceDevice& b, const Criteria& criteria) {
  return !differ_in_what_counts(a.attributes, b.attributes, criteria) &&
         !differ_in_what_counts(a.capacity, b.capacity, criteria);
}

}  // namespace

Result<void> check_has_all(const cluster::RequestForAll& request,
                           const std::vector<std::string>& selectors,
                           const std::vector<cluster::AllocatedDevice>& given,
                           const std::vector<SliceDevice>& listed) {
  Criteria criteria{.texts = selectors};
  std::ranges::copy(request.selectors, std::back_inserter(criteria.texts));
  std::ranges::copy(request.capacities, std::back_inserter(criteria.texts));
  std::set<std::string> names;
  for (const auto& device : given) {
    if (device.request == request.name) names.insert(device.device);
  }
  std::vector<std::string> left_out;
  for (const auto& device : listed) {
    if (!device.shareable || names.contains(device.name)) continue;
    const bool matches = std::ranges::any_of(listed, [&](const SliceDevice& other) {
      return names.contains(other.name) && match_alike(device, other, criteria);
    });
    if (matches) left_out.push_back(device.name);
  }
  if (left_out.empty()) return {};
  std::ranges::sort(left_out);
  return fail(Code::kFailedPrecondition,
              fmt::format("request {} asks for all devices, and the scheduler left out {}, which "
                          "others use",
                          request.name, fmt::join(left_out, ", ")),
              "delete the Pod and start it when they are free, or ask for a count of devices, or "
              "with adminAccess to look at all of them");
}

}  // namespace tranche::dra
