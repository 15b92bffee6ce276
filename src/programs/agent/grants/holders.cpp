#include "agent/grants/holders.h"

namespace tranche::agent {

HeldIds ids_of(const std::vector<cluster::HeldDevices>& held) {
  HeldIds ids;
  for (const auto& holder : held) {
    for (const auto& id : holder.ids) ids.emplace(holder.resource, id);
  }
  return ids;
}

}  // namespace tranche::agent
