#include "controller/webhook_keys.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::controller {
namespace {

using http::KeyPair;
using http::WallTime;
using std::chrono::milliseconds;

// A certificate is valid from a little before now: API servers' clocks may be behind.
constexpr std::chrono::minutes kClocksDiffer{5};
constexpr int kAuthorityLives = 4;
// Limits the bundle's authorities whose key is lost.
constexpr std::size_t kMostAuthorities = 4;

http::Validity valid(WallTime now, milliseconds life) {
  return {.begin = now - kClocksDiffer, .end = now + life};
}

class Keys {
 public:
  Keys(const WebhookKeys& keys, const WebhookKeyRules& rules, WallTime now)
      : keys_(keys), rules_(rules), now_(now) {
    if (auto all = http::split_certificates(keys.authorities)) authorities_ = *std::move(all);
  }

  Result<std::optional<WebhookKeyChange>> next(bool published) {
    if (keys_ == WebhookKeys{}) return anew("the webhook has its first certificate");
    if (const auto flaw = flaw_of_authority(); !flaw.empty()) {
      // The served certificate is good, and stays until the successor is known.
      if (flaw_of_certificate().empty()) {
        return damaged(with_successor(flaw + ": a new authority"));
      }
      return damaged(anew(flaw + ": authority and certificate are made anew"));
    }
    if (const auto flaw = flaw_of_certificate(); !flaw.empty()) {
      return damaged(with_certificate(flaw + ": a new certificate is served"));
    }
    if (is_for_others()) return with_certificate("it is served under other names");
    if (is_old(authorities_.front(), kAuthorityLives * rules_.life))
      return with_successor("a new authority is announced");
    if (!published || age(authorities_.front()) < settling()) return std::nullopt;
    const bool by_newest = http::is_signed_by(keys_.certificate, authorities_.front());
    if (!by_newest) return with_certificate("the new authority's certificate is served");
    if (is_old(keys_.certificate, rules_.life)) {
      return with_certificate("a new certificate is served");
    }
    if (authorities_.size() > 1 && age(keys_.certificate) >= retiring()) return without_old();
    return std::nullopt;
  }

 private:
  using Step = Result<std::optional<WebhookKeyChange>>;

  static Step damaged(Step step) {
    if (step && *step) (*step)->is_damaged = true;
    return step;
  }

  // Why the authority cannot sign or is not trusted; empty: it is fine.
  std::string flaw_of_authority() const {
    if (authorities_.empty()) return "ca.crt holds no certificates";
    if (!http::is_key_of(keys_.authority_key, authorities_.front())) {
      return "ca.key is not the key of ca.crt";
    }
    return has_ended(authorities_.front()) ? "ca.crt has expired" : "";
  }

  std::string flaw_of_certificate() const {
    if (!http::validity_of(keys_.certificate)) return "tls.crt holds no certificate";
    if (!http::is_key_of(keys_.key, keys_.certificate)) return "tls.key is not the key of tls.crt";
    if (has_ended(keys_.certificate)) return "tls.crt has expired";
    const bool is_trusted = std::ranges::any_of(authorities_, [this](const auto& one) {
      return http::is_signed_by(keys_.certificate, one);
    });
    return is_trusted ? "" : "tls.crt is of no authority in ca.crt";
  }

  bool is_for_others() const {
    return !std::ranges::all_of(rules_.hosts, [this](const auto& host) {
      return http::is_for_host(keys_.certificate, host);
    });
  }

  bool has_ended(const std::string& certificate) const {
    const auto validity = http::validity_of(certificate);
    return !validity || validity->end <= now_;
  }
  // A third of its life is left, or less. If it was made with a longer life, the current rules'
  // life counts.
  bool is_old(const std::string& certificate, milliseconds life) const {
    const auto validity = http::validity_of(certificate);
    return !validity || validity->end - now_ <= life / 3 || age(certificate) >= life * 2 / 3;
  }
  milliseconds age(const std::string& certificate) const {
    const auto validity = http::validity_of(certificate);
    if (!validity) return {};
    return std::chrono::duration_cast<milliseconds>(now_ - validity->begin - kClocksDiffer);
  }
  // How long API servers may take to read a new bundle.
  milliseconds settling() const {
    return std::min<milliseconds>(rules_.life / 6, std::chrono::minutes(2));
  }
  // How long a replica may serve an old certificate.
  milliseconds retiring() const {
    return std::min<milliseconds>(rules_.life / 6, std::chrono::hours(1));
  }

  Result<KeyPair> made_authority() const {
    return http::make_authority("tranche webhook CA", valid(now_, kAuthorityLives * rules_.life));
  }
  Result<KeyPair> made_certificate(const KeyPair& authority) const {
    // Must not outlive its authority.
    ASSIGN_OR_RETURN(const auto limit, http::validity_of(authority.certificate));
    auto validity = valid(now_, rules_.life);
    validity.end = std::min(validity.end, limit.end);
    return http::make_server_certificate(authority, rules_.hosts, validity);
  }
  // `newest` and the still valid others.
  std::string bundle(const std::string& newest) const {
    std::string text = newest;
    std::size_t count = 1;
    for (const auto& one : authorities_) {
      if (one == newest || has_ended(one) || count == kMostAuthorities) continue;
      text += one;
      ++count;
    }
    return text;
  }

  Step anew(std::string what) const {
    ASSIGN_OR_RETURN(const auto authority, made_authority());
    ASSIGN_OR_RETURN(const auto made, made_certificate(authority));
    return WebhookKeyChange{.keys = {.authorities = bundle(authority.certificate),
                                     .authority_key = authority.key,
                                     .certificate = made.certificate,
                                     .key = made.key},
                            .what = std::move(what)};
  }
  Step with_certificate(std::string what) const {
    ASSIGN_OR_RETURN(const auto made,
                     made_certificate({authorities_.front(), keys_.authority_key}));
    auto keys = keys_;
    keys.certificate = made.certificate;
    keys.key = made.key;
    return WebhookKeyChange{.keys = std::move(keys), .what = std::move(what)};
  }
  Step with_successor(std::string what) const {
    ASSIGN_OR_RETURN(const auto authority, made_authority());
    auto keys = keys_;
    keys.authorities = bundle(authority.certificate);
    keys.authority_key = authority.key;
    return WebhookKeyChange{.keys = std::move(keys), .what = std::move(what)};
  }
  Step without_old() const {
    auto keys = keys_;
    keys.authorities = authorities_.front();
    return WebhookKeyChange{.keys = std::move(keys),
                            .what = "the old authority is trusted no more"};
  }

  const WebhookKeys& keys_;
  const WebhookKeyRules& rules_;
  const WallTime now_;
  std::vector<std::string> authorities_;
};

}  // namespace

Result<std::optional<WebhookKeyChange>> next_keys(const WebhookKeys& keys,
                                                  const WebhookKeyRules& rules, http::WallTime now,
                                                  bool published) {
  return Keys(keys, rules, now).next(published);
}

std::chrono::milliseconds look_at_keys_every(const WebhookKeyRules& rules) {
  return std::clamp<milliseconds>(rules.life / 24, milliseconds(100), std::chrono::minutes(1));
}

}  // namespace tranche::controller
