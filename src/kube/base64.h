#pragma once
// Decodes base64 as kubeconfig files hold it. Source: RFC 4648, section 4. White space is skipped.

#include <optional>
#include <string>
#include <string_view>

namespace tranche::kube {

// nullopt: `text` is no base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace tranche::kube
