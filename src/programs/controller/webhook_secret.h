#pragma once
// The Secret with the webhook's keys, and the webhook configurations with the CA bundle: their
// texts, read and written. Pure.

#include <optional>
#include <string>

#include "base/result.h"
#include "cluster/object.h"
#include "controller/webhook_keys.h"

namespace tranche::controller {

// A field that is missing or not base64 reads as empty.
WebhookKeys keys_of(const cluster::Object& secret);

// A merge patch that applies only to the Secret as it was read.
std::string patch_of(const cluster::Object& secret, const WebhookKeys& keys);

// A JSON patch that makes each webhook of the configuration trust `authorities`; nullopt: each
// does. It applies only while the webhooks have these names in this order. kInvalidArgument: the
// text is no such configuration.
Result<std::optional<std::string>> trust_patch(const cluster::Object& configuration,
                                               const std::string& authorities);

}  // namespace tranche::controller
