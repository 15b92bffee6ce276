#include "http/certificate.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "http/openssl.h"
#include "http/openssl_library.h"

namespace tranche::http {
namespace {

constexpr long kVersion3 = 2;

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string text;
  for (const auto& host : hosts) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", is_address(host) ? "IP" : "DNS", host);
  }
  return text;
}

// 127 random bits, above zero: no two certificates of one authority have the same.
bool set_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7FU) | 0x40U);
  const std::unique_ptr<BIGNUM, Freer<BN_free>> number(
      BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_times(X509* certificate, const Validity& validity) {
  const auto set = [](ASN1_TIME* field, WallTime time) {
    return ASN1_TIME_set(field, std::chrono::system_clock::to_time_t(time)) != nullptr;
  };
  return set(X509_getm_notBefore(certificate), validity.begin) &&
         set(X509_getm_notAfter(certificate), validity.end);
}

bool add_name(X509* certificate, const std::string& name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool add_part(X509* certificate, X509* issuer, int part, const std::string& text) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const X509Part made(X509V3_EXT_conf_nid(nullptr, &context, part, text.c_str()));
  return made && X509_add_ext(certificate, made.get(), -1) == 1;
}

Result<KeyPair> written(X509* certificate, EVP_PKEY* key) {
  const Bio certificate_text(BIO_new(BIO_s_mem()));
  const Bio key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return std::unexpected(openssl_error(Code::kInternal, "writing a certificate"));
  }
  return KeyPair{.certificate = text_of(certificate_text), .key = text_of(key_text)};
}

Result<X509Certificate> first_of(std::string_view pem) {
  ASSIGN_OR_RETURN(auto all, read_certificates(pem));
  return std::move(all.front());
}

Result<WallTime> time_of(const ASN1_TIME* time) {
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    return std::unexpected(openssl_error(Code::kInvalidArgument, "a time of the certificate"));
  }
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

}  // namespace

Result<KeyPair> make_authority(const std::string& name, const Validity& validity) {
  TRY(load_openssl());
  const Key key(EVP_EC_gen("P-256"));
  const X509Certificate made(X509_new());
  auto* one = made.get();
  const bool good = key && one != nullptr && X509_set_version(one, kVersion3) == 1 &&
                    set_serial(one) && set_times(one, validity) && add_name(one, name) &&
                    X509_set_issuer_name(one, X509_get_subject_name(one)) == 1 &&
                    X509_set_pubkey(one, key.get()) == 1 &&
                    add_part(one, one, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    add_part(one, one, NID_key_usage, "critical,keyCertSign") &&
                    add_part(one, one, NID_subject_key_identifier, "hash") &&
                    X509_sign(one, key.get(), EVP_sha256()) != 0;
  if (!good) return std::unexpected(openssl_error(Code::kInternal, "making an authority"));
  return written(one, key.get());
}

Result<KeyPair> make_server_certificate(const KeyPair& authority,
                                        const std::vector<std::string>& hosts,
                                        const Validity& validity) {
  ASSIGN_OR_RETURN(const auto issuer, first_of(authority.certificate));
  ASSIGN_OR_RETURN(const auto issuer_key, read_key(authority.key));
  if (X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    return std::unexpected(openssl_error(Code::kInvalidArgument, "the authority's key"));
  }
  const Key key(EVP_EC_gen("P-256"));
  const X509Certificate made(X509_new());
  auto* one = made.get();
  const bool good = key && one != nullptr && X509_set_version(one, kVersion3) == 1 &&
                    set_serial(one) && set_times(one, validity) &&
                    add_name(one, "tranche webhook") &&
                    X509_set_issuer_name(one, X509_get_subject_name(issuer.get())) == 1 &&
                    X509_set_pubkey(one, key.get()) == 1 &&
                    add_part(one, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
                    add_part(one, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
                    add_part(one, issuer.get(), NID_ext_key_usage, "serverAuth") &&
                    add_part(one, issuer.get(), NID_authority_key_identifier, "keyid:always") &&
                    add_part(one, issuer.get(), NID_subject_alt_name, alternative_names(hosts)) &&
                    X509_sign(one, issuer_key.get(), EVP_sha256()) != 0;
  if (!good) return std::unexpected(openssl_error(Code::kInternal, "making a certificate"));
  return written(one, key.get());
}

Result<std::vector<std::string>> split_certificates(std::string_view pem) {
  ASSIGN_OR_RETURN(const auto all, read_certificates(pem));
  std::vector<std::string> texts;
  for (const auto& one : all) {
    const Bio text(BIO_new(BIO_s_mem()));
    if (PEM_write_bio_X509(text.get(), one.get()) != 1) {
      return std::unexpected(openssl_error(Code::kInternal, "writing a certificate"));
    }
    texts.push_back(text_of(text));
  }
  return texts;
}

Result<Validity> validity_of(std::string_view certificate) {
  ASSIGN_OR_RETURN(const auto one, first_of(certificate));
  ASSIGN_OR_RETURN(const auto begin, time_of(X509_get0_notBefore(one.get())));
  ASSIGN_OR_RETURN(const auto end, time_of(X509_get0_notAfter(one.get())));
  return Validity{.begin = begin, .end = end};
}

bool is_key_of(std::string_view key, std::string_view certificate) {
  const auto own = read_key(key);
  const auto one = first_of(certificate);
  if (!own || !one) return false;
  const bool is = X509_check_private_key(one->get(), own->get()) == 1;
  ERR_clear_error();
  return is;
}

bool is_signed_by(std::string_view certificate, std::string_view authority) {
  const auto one = first_of(certificate);
  const auto issuer = first_of(authority);
  if (!one || !issuer) return false;
  const bool is = X509_check_issued(issuer->get(), one->get()) == X509_V_OK &&
                  X509_verify(one->get(), X509_get0_pubkey(issuer->get())) == 1;
  ERR_clear_error();
  return is;
}

bool is_for_host(std::string_view certificate, const std::string& host) {
  const auto one = first_of(certificate);
  if (!one) return false;
  return is_address(host) ? X509_check_ip_asc(one->get(), host.c_str(), 0) == 1
                          : X509_check_host(one->get(), host.data(), host.size(), 0, nullptr) == 1;
}

}  // namespace tranche::http
