#include "controller/cluster_web.h"

#include <fmt/format.h>

#include <utility>

#include "config/programs/controller_options.h"
#include "fleet/make_fleet.h"
#include "kube/http_get.h"
#include "web/assets.h"

namespace tranche::controller {
namespace {

constexpr std::chrono::seconds kKeepEvery{1};
// How long the first reader waits until agents have answered.
constexpr std::chrono::seconds kPatience{2};
constexpr std::size_t kMostConnections = 128;
constexpr unsigned kHandlers = 8;
constexpr std::size_t kMostBodyBytes = 1024;

std::optional<SitePart> part_of_page(std::string_view path) {
  const auto asset = web::find_asset(path);
  if (!asset) return std::nullopt;
  return SitePart{asset->content_type, asset->body, asset->etag};
}

kube::Credentials credentials_of(const config::WebOptions& options, const AgentPlace& place) {
  const bool v6 = place.address.find(':') != std::string::npos;
  return {.server = fmt::format("{}://{}{}{}:{}", options.agent_ca_file.empty() ? "http" : "https",
                                v6 ? "[" : "", place.address, v6 ? "]" : "", options.agent_port),
          .tls_server_name = options.agent_server_name,
          .authority = {.text = {}, .file = options.agent_ca_file},
          .token = {.text = {}, .file = options.agent_token_file},
          .from = "the settings --agent-..."};
}

std::unexpected<Error> not_yet(const FleetFacts& facts) {
  return fail(Code::kUnavailable,
              "the cluster has not been read yet: " + facts.trouble().value_or("try again"));
}

}  // namespace

ClusterWeb::ClusterWeb(const WorkerContext& context, Options options)
    : context_(context),
      options_(std::move(options)),
      facts_(context, {.cluster = options_.web.cluster,
                       .driver = options_.web.dra_driver_name,
                       .agents_namespace = options_.ns,
                       .agent_selector = options_.web.agent_selector}),
      access_(context.objects, context.clock),
      collector_({.agents = [this] { return facts_.agents(); },
                  .ask = [this](const AgentPlace& place, std::chrono::milliseconds longest,
                                const std::stop_token& stop) { return ask(place, longest, stop); }},
                 context.clock),
      site_({.fleet = [this] { return fleet(); },
             .figures = [this] { return figures(); },
             .part = part_of_page},
            access_, options_.web.token_file, context.clock, context.log),
      server_(
          {.name = "the cluster's page",
           .server = {.address = options_.web.address,
                      .port = options_.web.port,
                      .max_body_bytes = kMostBodyBytes,
                      .max_connections = kMostConnections,
                      .handlers = kHandlers},
           .tls_dir = options_.web.tls_dir},
          [this](const http::Request& request, const std::stop_token& stop) {
            return answer(request, stop);
          },
          context.log),
      keep_(kKeepEvery, [this] { server_.keep(); }) {}

std::optional<std::string> ClusterWeb::trouble() const {
  if (server_.port() == 0) return "it does not listen yet";
  return facts_.trouble();
}

Result<std::string> ClusterWeb::ask(const AgentPlace& place, std::chrono::milliseconds longest,
                                    const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(const auto get,
                   kube::HttpGet::open(credentials_of(options_.web, place),
                                       {.user_agent = "tranche-controller",
                                        .peer = "the agent",
                                        .token_without_tls = options_.web.agent_ca_file.empty()}));
  return get->get("/usage", {.deadline = longest, .bytes = Collector::kLongestText, .stop = stop});
}

Result<fleet::Fleet> ClusterWeb::fleet() {
  if (!facts_.complete()) return not_yet(facts_);
  const bool asks = !options_.web.agent_selector.empty();
  if (asks) collector_.want(kPatience);
  const auto reports = collector_.reports();
  return facts_.with([&](const fleet::Facts& facts) {
    return make_fleet(facts, reports, context_.clock.wall_now(),
                      asks ? "no agent runs on it" : "agents are not asked (--agent-selector)");
  });
}

Result<std::optional<FleetFigures>> ClusterWeb::figures() const {
  if (context_.leads && !context_.leads()) return std::nullopt;
  if (!facts_.complete()) return not_yet(facts_);
  FleetFigures made;
  std::vector<std::string> nodes;
  facts_.with([&](const fleet::Facts& facts) {
    made.tally = tally(facts);
    made.tiers = facts.tiers;
    nodes = gpu_nodes_of(facts);
  });
  // While nobody looks nobody is asked, and nothing is known.
  if (!collector_.is_wanted()) return made;
  const auto reports = collector_.reports();
  made.nodes.emplace();
  for (const auto& node : nodes) {
    const auto found = reports.find(node);
    ++(*made.nodes)[found == reports.end() ? fleet::Reporting::kSilent : found->second.reporting];
  }
  return made;
}

std::optional<WorkerPlan> plan_cluster_web(const config::ControllerOptions& options) {
  if (!options.web) return std::nullopt;
  return WorkerPlan{.name = "web",
                    .needs_leadership = false,
                    .purposes = {"serving the cluster's page, /v1/fleet and /metrics"},
                    .start = starter<ClusterWeb>({.web = *options.web, .ns = options.ns})};
}

}  // namespace tranche::controller
