#pragma once
// Objects of Dynamic Resource Allocation (resource.k8s.io): shapes of older versions are converted
// to v1; fields that v1 does not have, CEL that cannot be true, and names that no device has are
// reported. Source: the types of k8s.io/api/resource v1alpha2 to v1, and their validation. Pure.

#include <string_view>

#include "explain/lint/place.h"
#include "explain/lint/surroundings.h"

namespace tranche::lint {

// Whether the apiVersion belongs to the group.
bool is_resource_api(std::string_view api_version);
// `object`: a whole object of that group. Corrects it in place.
void check_resource_object(const Place& object, const Surroundings& around);

// Parts, one file each.
// spec of a ResourceClaim, spec.spec of a ResourceClaimTemplate.
void check_claim_spec(const Place& spec, const Surroundings& around);
// An entry of requests: its parts, then its shape.
void check_request(const Place& request, const Surroundings& around);
// `selectors` below `body`.
void check_selectors(const Place& body, const Surroundings& around);
// Whose `config` it is: a DeviceClass has no request names.
enum class ConfigOf { kClass, kClaim };
// `config` below `body`.
void check_config(const Place& body, const std::vector<std::string>& requests, ConfigOf owner,
                  const Surroundings& around);
// `requests` of a constraint or a configuration: checks that the names exist.
void check_request_names(const Place& entry, const std::vector<std::string>& known);
// `capacity.requests` below `body`.
void check_capacity(const Place& body, const Surroundings& around);
void check_slice_spec(const Place& spec);
// For resource.k8s.io/v1alpha2: resourceClassName, parametersRef. False: the spec has neither.
bool convert_classic_claim(const Place& spec);
void convert_resource_class(const Place& object);

}  // namespace tranche::lint
