#pragma once
// The webhook's certificates, and when each is renewed. The next step follows from the present keys
// and the time. Pure but for random keys.
//
// No call may fail during a rotation. API servers trust all authorities of the bundle, and replicas
// serve whatever the Secret holds. So:
//
//   1. After two thirds of its life an authority gets a successor, which goes in front of it
//      into the bundle. The served certificate stays.
//   2. When API servers have had time to read the bundle, the successor signs a new certificate.
//   3. When replicas have had time to serve that, the old authority leaves the bundle.
//
// Independently, after two thirds of its own life a certificate is replaced, signed by the
// authority in front.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/certificate.h"

namespace tranche::controller {

// As the Secret holds them, PEM.
struct WebhookKeys {
  std::string authorities;    // ca.crt: the newest first; what API servers trust
  std::string authority_key;  // ca.key: of the newest
  std::string certificate;    // tls.crt
  std::string key;            // tls.key
  bool operator==(const WebhookKeys&) const = default;
};

struct WebhookKeyRules {
  std::vector<std::string> hosts;     // DNS names and addresses by which the webhook is called
  std::chrono::milliseconds life{0};  // of a certificate; an authority has four times as long
};

struct WebhookKeyChange {
  WebhookKeys keys;
  std::string what;         // for the log: "a new certificate is served"
  bool is_damaged = false;  // the present keys were unusable; `what` says why
};

// The next step, if one is due. `published`: API servers have received keys.authorities. kInternal:
// OpenSSL cannot create a key.
Result<std::optional<WebhookKeyChange>> next_keys(const WebhookKeys& keys,
                                                  const WebhookKeyRules& rules, http::WallTime now,
                                                  bool published);

// How often to call next_keys().
std::chrono::milliseconds look_at_keys_every(const WebhookKeyRules& rules);

}  // namespace tranche::controller
