#include "agent/plugins/parts.h"

#include <optional>
#include <utility>

#include "agent/limits/give_grant.h"
#include "agent/plugins/cdi_publisher.h"
#include "agent/plugins/driver_files_input.h"
#include "agent/plugins/kubelet_asker.h"
#include "agent/plugins/plugin_follower.h"
#include "agent/plugins/serving_follower.h"

namespace tranche::agent {
namespace {

PluginFollower::Register registration(const AgentContext& context) {
  return [attempt = context.outside.register_plugin, socket = context.options.kubelet_socket](
             const Registrar::Request& request, const PinnedFile& kubelet,
             const std::stop_token& stop) {
    return attempt(
        {.kubelet_socket = socket, .endpoint = request.endpoint, .resource = request.resource},
        kubelet, stop);
  };
}

std::unique_ptr<PluginFollower> make_plugins(const AgentContext& context, const CdiPublisher& cdi) {
  auto plugins = std::make_unique<PluginFollower>(
      PluginFollower::Options{.dir = context.options.device_plugins_dir(),
                              .kubelet_socket = context.options.kubelet_socket,
                              .take_over = context.options.take_over},
      PluginFollower::Parts{
          .register_plugin = registration(context),
          .store = [&book = context.outside.book, tenants = context.tenants](
                       const offer::Grant& grant) { return give(grant, book, tenants); },
          .cdi = cdi,
          .loop = context.loop,
          .clock = context.clock,
          .log = context.log});
  if (auto* inherited = context.inherited) {
    plugins->inherit(std::move(inherited->connections), inherited->served);
  }
  return plugins;
}

// The follower keeps the asker, whose thread calls it: that thread ends first.
std::unique_ptr<ServingFollower> follow_serving(const AgentContext& context,
                                                PluginFollower& plugins) {
  auto asker = std::make_shared<std::optional<KubeletAsker>>();
  auto serving = std::make_unique<ServingFollower>(ServingFollower::Parts{
      .plugins = {
          .is_registered =
              [&plugins](const std::string& name) { return plugins.is_registered(name); },
          .socket_trouble =
              [&plugins](const std::string& name) { return plugins.socket_trouble(name); },
          .register_again = [&plugins](const std::string& name) { plugins.register_again(name); },
          .take_events = [&plugins] { return plugins.take_events(); }},
      .ask = [asker] { (*asker)->ask(); },
      .look_again = context.look_again,
      .report = context.outside.report,
      .tell = context.outside.tell,
      .take_over = context.options.take_over,
      .clock = context.clock,
      .log = context.log});
  asker->emplace(context.outside.kubelet, [&loop = context.loop, follower = serving.get()](
                                              Result<cluster::AllocatableDevices> answer) {
    loop.post([follower, answer = std::move(answer)] { follower->answered(answer); });
  });
  return serving;
}

}  // namespace

Parts plugins_parts(const AgentContext& context) {
  Parts parts;
  parts.stages = {offer_what_cdi_can_name};
  parts.inputs.push_back(std::make_unique<DriverFilesInput>(
      context.options, context.options.dra && context.outside.cluster != nullptr, context.clock));
  auto cdi = std::make_unique<CdiPublisher>(context.options, context.log);
  auto plugins = make_plugins(context, *cdi);
  // Without kubelet's socket nothing is registered, and nothing can be compared.
  auto serving = plugins->registers() ? follow_serving(context, *plugins) : nullptr;
  parts.followers.push_back(std::move(cdi));
  parts.followers.push_back(std::move(plugins));
  if (serving != nullptr) {
    parts.inputs.push_back(std::make_unique<ServingInput>(*serving));
    parts.followers.push_back(std::move(serving));
  }
  return parts;
}

}  // namespace tranche::agent
