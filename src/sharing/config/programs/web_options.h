#pragma once
// The settings of the controller's page, of /v1/fleet and of the cluster's /metrics.

#include <cstdint>
#include <optional>
#include <string>

#include "base/dra_driver.h"
#include "config/programs/option_reader.h"

namespace tranche::config {

struct WebOptions {
  std::string address;  // numeric; "": all
  std::uint16_t port = 0;
  std::string tls_dir = {};         // folder of tls.crt and tls.key; "": without TLS
  std::string token_file = {};      // for /metrics; "": anybody may read them
  std::string cluster = {};         // its name; "": not told
  std::string agent_selector = {};  // labels of the agents' Pods; "": none is asked
  std::uint16_t agent_port = 9400;
  std::string agent_ca_file = {};      // PEM; "": agents are asked without TLS
  std::string agent_server_name = {};  // "": their address
  std::string agent_token_file = {};   // "": they ask for none
  std::string dra_driver_name{kDefaultDraDriver};
  bool operator==(const WebOptions&) const = default;
};

// nullopt: nothing is served.
std::optional<WebOptions> read_web_options(OptionReader& reader);

}  // namespace tranche::config
