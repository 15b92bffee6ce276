#pragma once
// Owning wrappers for OpenSSL's types, and OpenSSL's errors as ours. Only for the files of this
// room. The functions declared here load the library (openssl_library.h); callers that use OpenSSL
// earlier must load it themselves.

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/freer.h"

namespace tranche::http {

using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using X509Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using X509Part = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;
using TlsContext = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;

// The oldest error in this thread's queue; empties the queue.
Error openssl_error(Code code, std::string_view action);

// kInvalidArgument: it is not PEM of that kind.
Result<Key> read_key(std::string_view pem);
// All certificates of the text; not empty. kInvalidArgument also for a truncated one.
Result<std::vector<X509Certificate>> read_certificates(std::string_view pem);
std::string text_of(const Bio& memory);

}  // namespace tranche::http
