#include "top/source/remote.h"

#include <fmt/format.h>

#include <utility>

#include "fleet/fleet_json.h"
#include "usage/node_usage_json.h"

namespace tranche::top {
namespace {

constexpr const char* kUserAgent = "tranche-top";

struct Target {
  std::string path;
  std::string name;    // of the source
  bool fleet = false;  // false: usage/v1
};

class Remote final : public Source {
 public:
  Remote(std::unique_ptr<kube::HttpGet> get, Target target)
      : get_(std::move(get)), target_(std::move(target)) {}

  Result<Reading> read(const std::stop_token& stop) override {
    const auto most = target_.fleet ? fleet::kLongestFleet : usage::kLongestUsage;
    ASSIGN_OR_RETURN(const auto body,
                     get_->get(target_.path, {.deadline = kReadTime, .bytes = most, .stop = stop}));
    auto reading = parse(body);
    if (reading) return reading;
    return fail(Code::kUnavailable, fmt::format("{}: {}", target_.name, reading.error().what),
                "is it of the same release?");
  }
  std::string name() const override { return target_.name; }

 private:
  Result<Reading> parse(const std::string& body) const {
    if (target_.fleet) {
      ASSIGN_OR_RETURN(auto fleet, fleet::parse_fleet(body));
      return reading_of(std::move(fleet));
    }
    ASSIGN_OR_RETURN(auto usage, usage::parse_node_usage(body));
    return reading_of(std::move(usage));
  }

  const std::unique_ptr<kube::HttpGet> get_;
  const Target target_;
};

// As with kubectl port-forward, whose own connection has TLS.
bool is_on_this_machine(const std::string& url) {
  for (const auto* host : {"localhost", "127.0.0.1", "[::1]"}) {
    const auto begin = std::string("http://") + host;
    if (url == begin || url.starts_with(begin + ":") || url.starts_with(begin + "/")) return true;
  }
  return false;
}

Result<std::unique_ptr<Source>> open(kube::Credentials server, kube::HttpGet::Options options,
                                     Target target) {
  options.user_agent = kUserAgent;
  ASSIGN_OR_RETURN(auto get, kube::HttpGet::open(std::move(server), std::move(options)));
  return std::make_unique<Remote>(std::move(get), std::move(target));
}

}  // namespace

Result<std::unique_ptr<Source>> open_agent(kube::Credentials server) {
  auto name = "agent " + server.server;
  // Agents may serve without TLS, and ask for a token all the same.
  return open(std::move(server), {.peer = "the agent", .token_without_tls = true},
              {.path = "/usage", .name = std::move(name)});
}

Result<std::unique_ptr<Source>> open_controller(kube::Credentials server) {
  auto name = "controller " + server.server;
  const bool near = is_on_this_machine(server.server);
  return open(
      std::move(server),
      {.peer = "the controller", .token_header = kProxiedTokenHeader, .token_without_tls = near},
      {.path = "/v1/fleet", .name = std::move(name), .fleet = true});
}

Result<std::unique_ptr<Source>> open_service(kube::Credentials cluster,
                                             const ControllerService& service, kube::Secret token) {
  Target target{
      .path = proxied(service, "/v1/fleet"), .name = "cluster " + cluster.server, .fleet = true};
  cluster.proxied_token = std::move(token);
  return open(std::move(cluster), {.peer = "the controller", .token_header = kProxiedTokenHeader},
              std::move(target));
}

}  // namespace tranche::top
