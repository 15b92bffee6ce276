#include "cluster/fields.h"

namespace tranche::cluster {

std::vector<OwnerReference> read_owners(const Fields& metadata) {
  std::vector<OwnerReference> owners;
  for (const auto& owner : metadata.list("ownerReferences")) {
    owners.push_back({owner.text("apiVersion"), owner.text("kind"), owner.text("name"),
                      owner.text("uid"), owner.boolean("controller")});
  }
  return owners;
}

}  // namespace tranche::cluster
