#include "lab/kubelet/commands.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>

#include "lab/kubelet/claims.h"
#include "lab/kubelet/json.h"

namespace tranche::lab {

using nlohmann::json;

namespace {

using Reply = Result<json>;

json to_json(const ResourceStatus& status) {
  return {{"capacity", status.capacity},
          {"allocatable", status.allocatable},
          {"allocated", status.allocated},
          {"connected", status.connected}};
}

json node_json(const Kubelet& kubelet) {
  json out = json::object();
  for (const auto& [resource, status] : kubelet.status()) out[resource] = to_json(status);
  return out;
}

Reply no_data(const Result<void>& result) {
  TRY(result);
  return json::object();
}

Reply admit(Kubelet& kubelet, const json& command) {
  const PodStatus status = kubelet.admit(pod_from_json(command));
  json containers = json::object();
  for (const auto& [name, holdings] : status.containers) containers[name] = lab::to_json(holdings);
  return json{{"phase", status.phase},
              {"reason", status.reason},
              {"message", status.message},
              {"containers", std::move(containers)}};
}

// By "uid", else by "pod" and "namespace".
std::string pod_key(const json& command) {
  if (command.contains("uid")) return command.at("uid");
  return command.value("namespace", "default") + "/" + command.at("pod").get<std::string>();
}

Reply remove(Kubelet& kubelet, const json& command) {
  return no_data(kubelet.remove(pod_key(command)));
}

Reply restart_container(Kubelet& kubelet, const json& command) {
  ASSIGN_OR_RETURN(const ContainerHoldings holdings,
                   kubelet.restart_container(pod_key(command), command.at("container")));
  return json{{"resources", lab::to_json(holdings)}};
}

Reply node(Kubelet& kubelet, const json& /*command*/) {
  return json{{"resources", node_json(kubelet)}};
}

Reply wait(Kubelet& kubelet, const json& command) {
  const std::string resource = command.at("resource");
  const double seconds = command.value("timeout_s", 10.0);
  const auto fits = [&] {
    const ResourceStatus now = kubelet.status()[resource];
    return now.capacity == command.value("capacity", now.capacity) &&
           now.allocatable == command.value("allocatable", now.allocatable) &&
           now.connected == command.value("connected", now.connected) &&
           now.registrations >= command.value("registrations", 0);
  };
  const auto timeout = std::chrono::milliseconds(std::llround(seconds * 1000));
  if (kubelet.wait_for(fits, timeout)) return node(kubelet, command);
  return fail(Code::kTimeout, fmt::format("not so after {} s: {}; the node has {}", seconds,
                                          command.dump(), node_json(kubelet).dump()));
}

Reply devices(Kubelet& kubelet, const json& command) {
  json list = json::array();
  for (const Device& device : kubelet.devices(command.at("resource")))
    list.push_back(lab::to_json(device));
  return json{{"devices", std::move(list)}};
}

Reply registrations(Kubelet& kubelet, const json& /*command*/) {
  json list = json::array();
  for (const Registration& entry : kubelet.registrations()) {
    const std::chrono::duration<double> since_epoch = entry.time.time_since_epoch();
    list.push_back({{"resource", entry.resource},
                    {"endpoint", entry.endpoint},
                    {"version", entry.version},
                    {"pre_start_required", entry.options.pre_start_required},
                    {"get_preferred_allocation_available", entry.options.preferred_allocation},
                    {"time", since_epoch.count()},
                    {"error", entry.error}});
  }
  return json{{"count", list.size()}, {"registrations", std::move(list)}};
}

Reply stream_count(Kubelet& kubelet, const json& /*command*/) {
  json out = json::object();
  for (const auto& [resource, status] : kubelet.status())
    out[resource] = {{"open", status.connected ? 1 : 0},
                     {"opened", status.streams_opened},
                     {"lists", status.lists_received}};
  return json{{"streams", std::move(out)}};
}

Reply allocate_raw(Kubelet& kubelet, const json& command) {
  ASSIGN_OR_RETURN(const Answer answer,
                   kubelet.allocate_raw(command.at("resource"), command.value("ids", Ids{})));
  return json{{"answer", lab::to_json(answer)}};
}

Reply preferred_raw(Kubelet& kubelet, const json& command) {
  ASSIGN_OR_RETURN(const Ids ids,
                   kubelet.preferred_raw(command.at("resource"), command.value("available", Ids{}),
                                         command.value("must_include", Ids{}), command.at("size")));
  return json{{"ids", ids}};
}

Claim claim_from_json(const json& command) {
  return {.ns = command.at("namespace"), .name = command.at("name"), .uid = command.at("uid")};
}

Reply prepare(Kubelet& /*kubelet*/, const json& command) {
  ASSIGN_OR_RETURN(const auto names, prepare_claim(command.at("socket").get<std::string>(),
                                                   claim_from_json(command)));
  return json{{"cdi", names}};
}

Reply unprepare(Kubelet& /*kubelet*/, const json& command) {
  return no_data(
      unprepare_claim(command.at("socket").get<std::string>(), claim_from_json(command)));
}

Reply fault(Kubelet& kubelet, const json& command) {
  const std::string wish = command.at("register");
  if (wish == "none") {
    kubelet.set_fault(RegisterFault::kNone);
  } else if (wish == "hang") {
    kubelet.set_fault(RegisterFault::kHang);
  } else if (wish == "error") {
    kubelet.set_fault(RegisterFault::kError);
  } else {
    return fail(Code::kInvalidArgument, fmt::format("register: {}: unknown fault", wish),
                "use none, hang or error; kubelet is away after {\"op\":\"stop\"}");
  }
  return json::object();
}

Reply api_server(Kubelet& kubelet, const json& command) {
  kubelet.set_api_server_away(command.at("away"));
  return json::object();
}

Reply start(Kubelet& kubelet, const json& /*command*/) { return no_data(kubelet.start()); }

Reply stop(Kubelet& kubelet, const json& /*command*/) {
  kubelet.stop();
  return json::object();
}

Reply restart(Kubelet& kubelet, const json& /*command*/) { return no_data(kubelet.restart()); }

struct Command {
  std::string_view op;
  std::string_view fields;
  Reply (*run)(Kubelet&, const json&);
};

constexpr std::array kCommands = {
    Command{"admit",
            "pod, containers [{name, limits {resource: count}}], init_containers, "
            "namespace, uid",
            admit},
    Command{"remove", "pod (and namespace) or uid", remove},
    Command{"restart-container", "pod (and namespace) or uid, container", restart_container},
    Command{"node", "", node},
    Command{"wait",
            "resource, any of capacity, allocatable, connected, registrations (at least); "
            "timeout_s (10)",
            wait},
    Command{"devices", "resource", devices},
    Command{"registrations", "", registrations},
    Command{"stream-count", "", stream_count},
    Command{"allocate-raw", "resource, ids", allocate_raw},
    Command{"preferred-raw", "resource, available, must_include, size", preferred_raw},
    Command{"prepare-claim", "socket (of a DRA driver), namespace, name, uid", prepare},
    Command{"unprepare-claim", "socket, namespace, name, uid", unprepare},
    Command{"fault", "register: none, hang or error", fault},
    Command{"api-server", "away: true or false", api_server},
    Command{"stop", "", stop},
    Command{"start", "", start},
    Command{"restart", "", restart},
};

Reply run(Kubelet& kubelet, std::string_view line) {
  try {
    const json command = json::parse(line);
    const std::string op = command.at("op");
    for (const Command& candidate : kCommands)
      if (candidate.op == op) return candidate.run(kubelet, command);
    return fail(Code::kInvalidArgument, fmt::format("op {}: unknown", op), "see --help");
  } catch (const json::exception& error) {
    return fail(Code::kInvalidArgument, error.what(), "see --help for the fields of a command");
  }
}

}  // namespace

std::string run_command(Kubelet& kubelet, std::string_view line) {
  Reply reply = run(kubelet, line);
  json out = reply ? *std::move(reply) : json{{"error", reply.error().message()}};
  out["ok"] = !out.contains("error");
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string help_text() {
  std::string text;
  for (const Command& command : kCommands)
    text += fmt::format("  {:<18} {}\n", command.op, command.fields);
  return text;
}

}  // namespace tranche::lab
