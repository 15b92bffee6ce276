#include "config/programs/web_options.h"

#include <limits>
#include <utility>

#include "config/programs/driver_name.h"
#include "config/programs/listen_address.h"

namespace tranche::config {
namespace {

std::uint16_t agent_port(OptionReader& reader) {
  const auto port = reader.get<std::int64_t>("agent-port");
  if (port > 0 && port <= std::numeric_limits<std::uint16_t>::max()) {
    return static_cast<std::uint16_t>(port);
  }
  reader.error("agent-port", fmt::format("{} is no port", port), "write the port, such as 9400");
  return 0;
}

}  // namespace

std::optional<WebOptions> read_web_options(OptionReader& reader) {
  if (reader.get<std::string>("web-address").empty()) return std::nullopt;
  auto listen = read_listen_address(reader, "web-address", 9401);
  WebOptions options{.address = std::move(listen.address),
                     .port = listen.port,
                     .tls_dir = reader.get<std::string>("web-tls-dir"),
                     .token_file = reader.get<std::string>("web-token-file"),
                     .cluster = reader.get<std::string>("cluster-name"),
                     .agent_selector = reader.get<std::string>("agent-selector"),
                     .agent_port = agent_port(reader),
                     .agent_ca_file = reader.get<std::string>("agent-ca-file"),
                     .agent_server_name = reader.get<std::string>("agent-server-name"),
                     .agent_token_file = reader.get<std::string>("agent-token-file"),
                     .dra_driver_name = read_driver_name(reader)};
  if (!options.agent_server_name.empty() && options.agent_ca_file.empty()) {
    reader.error("agent-server-name", "agents are asked without TLS, which has no names",
                 "give --agent-ca-file too");
  }
  return options;
}

}  // namespace tranche::config
