#pragma once
// tests/kube/stub_server.py as a child process: gives its answers in order, whatever the request.
// Used by one thread at a time, apart from the requests that it serves.

#include <sys/types.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "kube/client.h"
#include "kube/credentials.h"

namespace tranche::test {

// stub_server.py says what each does.
struct Answer {
  int status = 200;
  std::string body = {};
  std::map<std::string, std::string> headers = {};
  std::vector<std::string> chunks = {};
  bool chunked = false;  // also with no chunk at all
  bool hold = false;
  bool cut = false;
  bool drop = false;
  bool silent = false;
  int repeat = 1;
};

// A metav1.Status.
Answer refusal(int status, const std::string& reason, const std::string& message);

struct Asked {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string subject;
  int connection = 0;
};

class StubServer {
 public:
  struct Options {
    bool tls = true;
    std::string certificate = "server";
    bool client_certificates = false;
  };
  StubServer() : StubServer(Options()) {}
  explicit StubServer(const Options& options);
  ~StubServer();
  StubServer(const StubServer&) = delete;
  StubServer& operator=(const StubServer&) = delete;

  void answer(const Answer& answer);
  // The next request; waits for it.
  Asked asked();

  // With the authority and the token "secret".
  kube::Credentials credentials() const;
  int port() const { return port_; }

 private:
  Options options_;
  pid_t child_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
  int port_ = 0;
};

}  // namespace tranche::test
