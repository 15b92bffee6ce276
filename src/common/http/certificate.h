#pragma once
// Makes and reads X.509 certificates: an authority of our own, and what it signs for a server. Keys
// are on the curve P-256. All text is PEM.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::http {

using WallTime = std::chrono::system_clock::time_point;

struct KeyPair {
  std::string certificate;
  std::string key;
  bool operator==(const KeyPair&) const = default;
};

struct Validity {
  WallTime begin;
  WallTime end;
};

// An authority that signs servers' certificates and nothing else. `name`: for people; at most 64
// bytes.
Result<KeyPair> make_authority(const std::string& name, const Validity& validity);

// `hosts`: DNS names and numeric addresses; not empty. kInvalidArgument: the authority's key is not
// its certificate's.
Result<KeyPair> make_server_certificate(const KeyPair& authority,
                                        const std::vector<std::string>& hosts,
                                        const Validity& validity);

// The certificates of a text, each as PEM of its own. kInvalidArgument: there is none, or one
// cannot be read.
Result<std::vector<std::string>> split_certificates(std::string_view pem);

// kInvalidArgument: it is no certificate.
Result<Validity> validity_of(std::string_view certificate);
// Of the first certificate of the text: whether the key is its own, whether the authority signed
// it, whether it is for the host. False also where one of them cannot be read.
bool is_key_of(std::string_view key, std::string_view certificate);
bool is_signed_by(std::string_view certificate, std::string_view authority);
bool is_for_host(std::string_view certificate, const std::string& host);

}  // namespace tranche::http
