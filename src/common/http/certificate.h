#pragma once
// Makes and reads X.509 certificates: our own CA, and the server certificates that it signs. Keys
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

// A CA that signs only server certificates. `name`: for people; at most 64
// bytes.
Result<KeyPair> make_authority(const std::string& name, const Validity& validity);

// `hosts`: DNS names and numeric addresses; not empty. kInvalidArgument: the CA's key does not
// match its certificate.
Result<KeyPair> make_server_certificate(const KeyPair& authority,
                                        const std::vector<std::string>& hosts,
                                        const Validity& validity);

// Splits a text into its certificates, each as its own PEM. kInvalidArgument: there is none, or one
// cannot be read.
Result<std::vector<std::string>> split_certificates(std::string_view pem);

// kInvalidArgument: it is not a certificate.
Result<Validity> validity_of(std::string_view certificate);
// These check the first certificate of the text: whether the key matches it, whether the CA signed
// it, whether it is valid for the host. False also if one of them cannot be read.
bool is_key_of(std::string_view key, std::string_view certificate);
bool is_signed_by(std::string_view certificate, std::string_view authority);
bool is_for_host(std::string_view certificate, const std::string& host);

}  // namespace tranche::http
