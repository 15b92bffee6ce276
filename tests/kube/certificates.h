#pragma once
// Certificates of a test's own: an authority, a server's and clients', made by openssl.

#include <filesystem>
#include <string>

#include "support/temp_dir.h"

namespace tranche::test {

class Certificates {
 public:
  // Makes "ca", "server" (for 127.0.0.1 and api.example.test) and "client", each NAME.pem and
  // NAME.key. Throws when openssl does not do it.
  Certificates();

  // One more, signed by `authority` ("ca" or another that was made): CN is its name.
  void make(const std::string& name, const std::string& authority = "ca", int days = 1);
  void make_authority(const std::string& name);

  std::filesystem::path pem(const std::string& name) const { return dir_.path() / (name + ".pem"); }
  std::filesystem::path key(const std::string& name) const { return dir_.path() / (name + ".key"); }

 private:
  TempDir dir_;
};

// Made once for all tests of the program.
const Certificates& certificates();

}  // namespace tranche::test
