#pragma once
// The rules for names in the configuration: resource names and the items of `devices:`. Pure.

#include <string_view>

#include "base/result.h"
#include "config/resource_name.h"

namespace tranche::config {

// Adds the prefix "nvidia.com/" if it is missing. kInvalidArgument if the name is longer than 63
// characters, or if the part after the slash is not a lower-case RFC 1123 subdomain.
Result<ResourceName> parse_resource_name(std::string_view text);

// Whether this is a valid Kubernetes object name: a lower-case RFC 1123 subdomain of at most 253
// characters.
bool is_object_name(std::string_view text);

// Whether `text` is an item of a `devices:` list: see DeviceList in config.h.
bool is_device_item(std::string_view text);

}  // namespace tranche::config
