#include "http/tls_context.h"

#include "http/openssl_library.h"

namespace tranche::http {
namespace {

Result<TlsContext> without_certificate() {
  TRY(load_openssl());
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (!context) return std::unexpected(openssl_error(Code::kInternal, "TLS"));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // A client that comes back makes a new handshake: sessions and tickets would be memory of ours.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

}  // namespace

Result<TlsContext> tls_context(const Certificate& certificate) {
  ASSIGN_OR_RETURN(auto context, without_certificate());
  if (certificate == Certificate{}) return context;
  ASSIGN_OR_RETURN(const auto key, read_key(certificate.key));
  ASSIGN_OR_RETURN(const auto chain, read_certificates(certificate.chain));
  bool good = SSL_CTX_use_certificate(context.get(), chain.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1 &&
              SSL_CTX_check_private_key(context.get()) == 1;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    good = good && SSL_CTX_add1_chain_cert(context.get(), chain[i].get()) == 1;
  }
  if (good) return context;
  return std::unexpected(openssl_error(Code::kInvalidArgument, "certificate and key"));
}

}  // namespace tranche::http
