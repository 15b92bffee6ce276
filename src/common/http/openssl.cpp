#include "http/openssl.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>

#include "http/openssl_library.h"

namespace tranche::http {
namespace {

Bio memory_of(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

}  // namespace

Error openssl_error(Code code, std::string_view action) {
  std::array<char, 160> text{};
  const auto error = ERR_get_error();
  ERR_error_string_n(error, text.data(), text.size());
  ERR_clear_error();
  return {code, fmt::format("{}: {}", action, error == 0 ? "refused" : text.data())};
}

Result<Key> read_key(std::string_view pem) {
  TRY(load_openssl());
  const auto memory = memory_of(pem);
  // Without a callback OpenSSL would ask a terminal for the password of an encrypted key.
  const auto no_password = [](char*, int, int, void*) { return 0; };
  Key key(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_password, nullptr));
  if (!key) return std::unexpected(openssl_error(Code::kInvalidArgument, "the key"));
  return key;
}

Result<std::vector<X509Certificate>> read_certificates(std::string_view pem) {
  TRY(load_openssl());
  const auto memory = memory_of(pem);
  std::vector<X509Certificate> found;
  while (X509* one = PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr)) {
    found.emplace_back(one);
  }
  const auto last = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  if (!at_end || found.empty()) {
    return std::unexpected(openssl_error(Code::kInvalidArgument, "the certificate"));
  }
  ERR_clear_error();
  return found;
}

std::string text_of(const Bio& memory) {
  char* data = nullptr;
  const auto length = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(length)};
}

}  // namespace tranche::http
