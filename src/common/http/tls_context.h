#pragma once
// How a server speaks TLS: versions, no sessions, and the certificate. Only for the files of this
// room. OpenSSL is loaded by the first call.

#include "base/result.h"
#include "http/openssl.h"
#include "http/served_certificate.h"

namespace tranche::http {

// An empty certificate: every handshake fails. kInvalidArgument: not a certificate, or the key does
// not match.
Result<TlsContext> tls_context(const Certificate& certificate);

}  // namespace tranche::http
