#pragma once
// Which ConfigMap an agent follows, by what it says of its configuration on its Node.

#include <optional>
#include <string_view>

#include "cluster/object.h"

namespace tranche::cluster {

// `message`: of the condition TrancheConfigured: "ConfigMap gpu/configs, key training (...)", or of
// a configuration that is refused "gpu/configs:training:3: ...". nullopt: it names none. A Node is
// written by its kubelet too, so only what can be a name is taken.
std::optional<ObjectKey> config_map_of(std::string_view message);

}  // namespace tranche::cluster
