#include "setup.h"

#include <algorithm>
#include <utility>

#include "base/fs.h"
#include "kube/choose_cluster.h"
#include "top/source/agent_or_local.h"
#include "top/source/local.h"
#include "top/source/recording.h"
#include "top/source/remote.h"

namespace tranche::top {
namespace {

using From = config::TopOptions::From;

Sort sort_of(const std::string& text) {
  for (const auto sort : {Sort::kMemory, Sort::kCompute, Sort::kWait}) {
    if (to_string(sort) == text) return sort;
  }
  return Sort::kName;
}

kube::Credentials server_of(const config::TopOptions& options) {
  kube::Credentials server{.server = options.server, .from = options.server};
  server.authority.file = options.ca_file;
  server.token.file = options.token_file;
  return server;
}

Result<std::unique_ptr<Source>> open_cluster(const config::TopOptions& options,
                                             const config::Sources& sources) {
  const bool by_flag = std::ranges::any_of(
      sources.flags, [](const config::FlagValue& flag) { return flag.name == "kubeconfig"; });
  ASSIGN_OR_RETURN(auto cluster,
                   kube::choose_cluster(options.api_server, by_flag, sources.environment));
  kube::Secret token;
  token.file = options.token_file;
  return open_service(std::move(cluster), options.service, std::move(token));
}

}  // namespace

Result<Settings> settings_of(const config::TopOptions& options, bool utf8) {
  Settings settings{.sort = sort_of(options.sort),
                    .reverse = options.reverse,
                    .tree = options.tree,
                    .processes = options.processes,
                    .signs = {.ascii = options.ascii || !utf8}};
  if (options.filter.empty()) return settings;
  auto filter = Filter::parse(options.filter);
  if (!filter) return std::unexpected(std::move(filter).error().with_context("--filter"));
  settings.filter = *std::move(filter);
  return settings;
}

Theme theme_of(const config::TopOptions& options, const Environment& environment) {
  const auto variable = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  if (options.theme == "none") return Theme::kNone;
  if (options.theme == "light") return Theme::kLight;
  if (options.theme == "dark") return Theme::kDark;
  if (!variable("NO_COLOR").empty()) return Theme::kNone;
  // "0;15": the last number is the background; 7 and 15 are white.
  const auto colours = variable("COLORFGBG");
  const auto background = colours.substr(colours.rfind(';') + 1);
  return background == "7" || background == "15" ? Theme::kLight : Theme::kDark;
}

Result<std::unique_ptr<Source>> open_source(const config::TopOptions& options,
                                            const config::Sources& sources) {
  switch (options.from) {
    case From::kLocal:
      return open_local("", FsRoot());
    case From::kController:
      return open_controller(server_of(options));
    case From::kCluster:
      return open_cluster(options, sources);
    case From::kReplay:
      return Replay::open(options.replay, options.speed);
    case From::kAgent:
      break;
  }
  ASSIGN_OR_RETURN(auto agent, open_agent(server_of(options)));
  if (!options.agent_by_default) return agent;
  return std::make_unique<AgentOrLocal>(std::move(agent), open_local("", FsRoot()));
}

}  // namespace tranche::top
