#pragma once
// The Secret that holds the webhook's keys, and the webhook configurations that tell API servers
// whom to trust: their texts, read and written. Pure.

#include <optional>
#include <string>

#include "base/result.h"
#include "cluster/object.h"
#include "controller/webhook_keys.h"

namespace tranche::controller {

// What is missing or no base64 reads as empty: whoever uses it sees that.
WebhookKeys keys_of(const cluster::Object& secret);

// A merge patch that holds only while the Secret is as it was read.
std::string patch_of(const cluster::Object& secret, const WebhookKeys& keys);

// A JSON patch that has each webhook of the configuration trust `authorities`; nullopt: each does.
// It holds only while the webhooks have these names in this order. kInvalidArgument: the text is no
// such configuration.
Result<std::optional<std::string>> trust_patch(const cluster::Object& configuration,
                                               const std::string& authorities);

}  // namespace tranche::controller
