#pragma once
// The certificates of the webhook, and when which of them is made anew. Pure but for the randomness
// of keys: what is to be done follows from what there is and from the time.
//
// Nobody may be refused while they change. API servers trust all authorities of the bundle, and
// replicas serve whatever the Secret holds. So:
//
//   1. An authority that has had two thirds of its life gets a successor, which goes in front of it
//      into the bundle. The certificate that is served stays.
//   2. When API servers have had the bundle for a while, the successor signs a new certificate.
//   3. When replicas have had that for a while, the old authority leaves the bundle.
//
// A certificate that has had two thirds of its own life is replaced in between, by the authority
// that stands in front.

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
  bool is_damaged = false;  // what there was could not be used, and `what` says why
};

// The next step, if one is due. `published`: API servers have been told of keys.authorities.
// kInternal: OpenSSL makes no key.
Result<std::optional<WebhookKeyChange>> next_keys(const WebhookKeys& keys,
                                                  const WebhookKeyRules& rules, http::WallTime now,
                                                  bool published);

// How often to ask for the next step.
std::chrono::milliseconds look_at_keys_every(const WebhookKeyRules& rules);

}  // namespace tranche::controller
