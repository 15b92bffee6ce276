#pragma once
// A test's certificates, made by openssl: a CA, a server's and clients'.

#include <filesystem>
#include <string>

#include "support/temp_dir.h"

namespace tranche::test {

class Certificates {
 public:
  // Makes "ca", "server" (for 127.0.0.1 and api.example.test) and "client", each NAME.pem and
  // NAME.key. Throws if openssl fails.
  Certificates();

  // Makes one more, signed by `authority` ("ca" or another existing one). Its CN is `name`.
  void make(const std::string& name, const std::string& authority = "ca", int days = 1);
  void make_authority(const std::string& name);

  std::filesystem::path pem(const std::string& name) const { return dir_.path() / (name + ".pem"); }
  std::filesystem::path key(const std::string& name) const { return dir_.path() / (name + ".key"); }

 private:
  TempDir dir_;
};

// One set for all tests of the program.
const Certificates& certificates();

}  // namespace tranche::test
