#pragma once
// Validates texts that came over the API server. Agents, the controller and people write such texts
// into annotations; a reader accepts only what it would write itself.

#include <string_view>

namespace tranche::cluster {

// A name of a namespace, Pod, container or ConfigMap: lower-case letters, digits, '-' and '.'; at
// most 253 bytes.
bool is_name(std::string_view text);
// A uid, or an id of a device or change ("GPU-0a...", "0f8f..."): letters, digits, '-' and '_'; at
// most 64 bytes.
bool is_id(std::string_view text);
// A non-empty label value: at most 63 letters, digits, '-', '_' and '.', with a letter or digit at
// both ends.
bool is_label_value(std::string_view text);
// An extended resource: "nvidia.com/mig-1g.10gb".
bool is_resource(std::string_view text);

}  // namespace tranche::cluster
