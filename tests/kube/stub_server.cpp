#include "kube/stub_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "kube/certificates.h"

namespace tranche::test {
namespace {

using nlohmann::json;

std::string read_line(std::FILE* file) {
  char* line = nullptr;
  std::size_t capacity = 0;
  const auto length = ::getline(&line, &capacity, file);
  std::string text = length > 0 ? std::string(line, static_cast<std::size_t>(length) - 1) : "";
  std::free(line);
  if (length <= 0) throw std::runtime_error("stub_server.py ended");
  return text;
}

}  // namespace

Answer refusal(int status, const std::string& reason, const std::string& message) {
  const json body = {{"kind", "Status"},   {"apiVersion", "v1"}, {"status", "Failure"},
                     {"message", message}, {"reason", reason},   {"code", status}};
  return {.status = status, .body = body.dump()};
}

StubServer::StubServer(const Options& options) : options_(options) {
  const auto& made = certificates();
  const std::string certificate = options.tls ? made.pem(options.certificate).string() : "-";
  const std::string key = options.tls ? made.key(options.certificate).string() : "-";
  const std::string authority = options.client_certificates ? made.pem("ca").string() : "-";
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe");
  }
  child_ = ::fork();
  if (child_ == 0) {
    ::dup2(to[0], 0);
    ::dup2(from[1], 1);
    // Debian's own, and without packages: another python3 in PATH may take three times as long to
    // start.
    ::execl("/usr/bin/python3", "python3", "-IS", TRANCHE_STUB_SERVER, certificate.c_str(),
            key.c_str(), authority.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  to_ = ::fdopen(to[1], "w");
  from_ = ::fdopen(from[0], "r");
  port_ = std::stoi(read_line(from_));
}

StubServer::~StubServer() {
  std::fclose(to_);  // this ends it
  std::fclose(from_);
  ::waitpid(child_, nullptr, 0);
}

void StubServer::answer(const Answer& answer) {
  json line = {{"status", answer.status}, {"headers", answer.headers}, {"body", answer.body},
               {"hold", answer.hold},     {"cut", answer.cut},         {"drop", answer.drop},
               {"silent", answer.silent}, {"repeat", answer.repeat}};
  if (answer.chunked || !answer.chunks.empty()) line["chunks"] = answer.chunks;
  std::fputs((line.dump() + "\n").c_str(), to_);
  std::fflush(to_);
}

Asked StubServer::asked() {
  const auto line = json::parse(read_line(from_));
  return {line.at("method"), line.at("target"),  line.at("headers"),
          line.at("body"),   line.at("subject"), line.at("connection")};
}

kube::Credentials StubServer::credentials() const {
  kube::Credentials credentials;
  credentials.server = fmt::format("{}://127.0.0.1:{}", options_.tls ? "https" : "http", port_);
  credentials.from = "the test";
  if (options_.tls) {
    credentials.authority.file = certificates().pem("ca");
    credentials.token.text = "secret";
  }
  return credentials;
}

}  // namespace tranche::test
