#include "http/certificate_files.h"

#include <utility>

#include "http/regular_file.h"
#include "http/tls_context.h"

namespace tranche::http {

Result<std::optional<Certificate>> CertificateFiles::changed() {
  ASSIGN_OR_RETURN(auto pair, read());
  if (pair == given_) return std::nullopt;
  auto good = tls_context(pair);
  if (!good) {
    // The second file may have been replaced after the first was read.
    ASSIGN_OR_RETURN(pair, read());
    if (pair == given_) return std::nullopt;
    good = tls_context(pair);
  }
  if (!good) {
    return std::unexpected(
        std::move(good).error().with_context(chain_.string() + " and " + key_.string()));
  }
  given_ = pair;
  return pair;
}

Result<Certificate> CertificateFiles::read() const {
  ASSIGN_OR_RETURN(auto chain, read(chain_));
  ASSIGN_OR_RETURN(auto key, read(key_));
  return Certificate{.chain = std::move(chain), .key = std::move(key)};
}

Result<std::string> CertificateFiles::read(const std::filesystem::path& file) const {
  ASSIGN_OR_RETURN(auto reading, read_regular(root_, file, kMaxBytes));
  const auto shown = root_.resolve(file).string();
  if (reading.being_written.value_or(false)) {
    return fail(Code::kUnavailable, shown + " is being written");
  }
  if (reading.text.empty()) {
    return fail(Code::kInvalidArgument, shown + " is empty",
                "write PEM into it, as cert-manager or openssl makes it");
  }
  return std::move(reading.text);
}

}  // namespace tranche::http
