#pragma once
// The certificate and the key of a server in two files, as Kubernetes mounts a Secret of type
// kubernetes.io/tls (tls.crt, tls.key), and whether they have changed. The caller asks from time to
// time, and gives what is new to Server::set_certificate().
//
// The files are read each time, so no way to replace them is missed. The two are not replaced in
// one step everywhere; a certificate with another one's key, or half a file, is never given out:
// the last good pair stays in use until both fit.
//
// Used by one thread.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "base/fs.h"
#include "base/result.h"
#include "http/served_certificate.h"

namespace tranche::http {

class CertificateFiles {
 public:
  // `chain`, `key`: paths of `root`, which need not exist yet.
  CertificateFiles(FsRoot root, std::filesystem::path chain, std::filesystem::path key)
      : root_(std::move(root)), chain_(std::move(chain)), key_(std::move(key)) {}

  // The pair, if it is another one than this returned last; nullopt: it is the same. A Server
  // accepts what this returns. An error is told by each call until it is over. kNotFound,
  // kPermission, kIo: a file cannot be read; kInvalidArgument: they are no certificate and key, do
  // not fit, or are above 1 MiB; kUnavailable: one is being written; kUnsupported: the machine has
  // no OpenSSL.
  Result<std::optional<Certificate>> changed();

  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;

 private:
  Result<Certificate> read() const;
  Result<std::string> read(const std::filesystem::path& file) const;

  FsRoot root_;
  std::filesystem::path chain_;
  std::filesystem::path key_;
  Certificate given_;  // empty: none yet
};

}  // namespace tranche::http
