#include "config/programs/controller_options.h"

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "config/names.h"
#include "config/programs/driver_name.h"
#include "config/programs/listen_address.h"
#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {

std::string name(OptionReader& reader, std::string_view flag, std::string_view what) {
  auto text = reader.get<std::string>(flag);
  if (text.empty()) {
    reader.error(flag, fmt::format("{} is not named", what), fmt::format("give --{}", flag));
  } else if (!is_object_name(text)) {
    reader.error(flag, fmt::format("'{}' is no name", text.substr(0, 80)),
                 "write lower-case letters, digits, '-' and '.'");
  }
  return text;
}

void read_daemon_set(OptionReader& reader, CleanupOptions& options) {
  const auto text = reader.get<std::string>("daemonset");
  const auto slash = std::min(text.find('/'), text.size());
  options.daemon_set_namespace = text.substr(0, slash);
  options.daemon_set = text.substr(std::min(slash + 1, text.size()));
  if (!is_object_name(options.daemon_set_namespace) || !is_object_name(options.daemon_set)) {
    reader.error("daemonset", fmt::format("'{}' names no DaemonSet", text.substr(0, 80)),
                 "write NAMESPACE/NAME");
  }
}

std::string patch(OptionReader& reader) {
  auto text = reader.get<std::string>("patch");
  const auto parsed = json::parse(text);
  if (text.empty()) {
    reader.error("patch", "there is nothing to change the DaemonSet by", "give --patch as JSON");
  } else if (!parsed || parsed->kind() != json::Kind::kObject) {
    reader.error("patch",
                 fmt::format("it is no JSON object{}{}", parsed ? "" : ": ",
                             parsed ? "" : parsed.error().what),
                 "write a strategic merge patch such as {\"spec\":{...}}");
  }
  return text;
}

std::chrono::nanoseconds timeout(OptionReader& reader) {
  const auto interval = reader.get<Interval>("timeout").value;
  if (interval && interval->count() > 0) return *interval;
  reader.error("timeout", "somebody waits for the end", "write a duration such as 120s");
  return std::chrono::seconds(1);
}

// Reports an error if more than one of the flags that choose the mode is given.
CleanupOptions::Mode mode(OptionReader& reader) {
  using enum CleanupOptions::Mode;
  const bool stay = reader.get<bool>("stay");
  const bool check = reader.get<bool>("check");
  const bool roll_out = reader.is_set("daemonset");
  if (int{stay} + int{check} + int{roll_out} > 1) {
    reader.error(roll_out ? "daemonset" : "check",
                 "--stay, --check and --daemonset exclude each other",
                 "give one of them, or none to clear this node now");
  }
  if (!roll_out && reader.is_set("patch")) {
    reader.error("patch", "there is no --daemonset to change by it", "give --daemonset too");
  }
  if (roll_out) return kRollOut;
  if (check) return kCheck;
  return stay ? kStay : kClear;
}

void read_hosts(OptionReader& reader, WebhookOptions& options) {
  options.hosts = reader.get<std::vector<std::string>>("webhook-hosts");
  if (options.hosts.empty()) {
    reader.error("webhook-hosts", "nobody can call the webhook",
                 "give --webhook-hosts=SERVICE.NAMESPACE.svc");
  }
  for (const auto& host : options.hosts) {
    if (is_object_name(host) || is_address(host)) continue;
    reader.error("webhook-hosts", fmt::format("'{}' is no name of a host", host.substr(0, 80)),
                 "write DNS names or addresses, separated by commas");
  }
}

void read_classes(OptionReader& reader, WebhookOptions& options) {
  options.counted_classes = reader.get<std::vector<std::string>>("fractions-quota-classes");
  if (options.counted_classes.empty()) {
    reader.error("fractions-quota-classes", "no claim would be counted",
                 "name the DeviceClasses of shares, such as gpu-share");
  }
  for (const auto& one : options.counted_classes) {
    if (is_object_name(one)) continue;
    reader.error("fractions-quota-classes",
                 fmt::format("'{}' is no name of a DeviceClass", one.substr(0, 80)),
                 "write names separated by commas");
  }
}

// "NVIDIA L20=45476"
std::optional<ExpectedModel> read_model(const std::string& text) {
  constexpr std::uint64_t kMostMib = std::uint64_t{1} << 30U;
  const auto equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  std::uint64_t mib = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + equals + 1, end, mib);
  if (read.ec != std::errc() || read.ptr != end || mib == 0 || mib > kMostMib) return std::nullopt;
  return ExpectedModel{.product = text.substr(0, equals), .memory = Bytes::from_mib(mib)};
}

void read_models(OptionReader& reader, WebhookOptions& options) {
  for (const auto& one : reader.get<std::vector<std::string>>("fractions-models")) {
    if (auto model = read_model(one)) {
      options.models.push_back(*std::move(model));
    } else {
      reader.error("fractions-models", fmt::format("'{}' is no model of GPU", one.substr(0, 80)),
                   "write PRODUCT=MI, such as \"Tesla T4=14917\", separated by commas");
    }
  }
}

std::optional<WebhookOptions> read_webhook(OptionReader& reader) {
  const bool counts_shares = reader.get<bool>("fractions-quota");
  if (!reader.get<bool>("fractions")) {
    if (counts_shares) {
      reader.error("fractions-quota", "shares are counted by the webhook for fractions",
                   "give --fractions too");
    }
    return std::nullopt;
  }
  WebhookOptions options{.counts_shares = counts_shares};
  auto listen = read_listen_address(reader, "webhook-listen", 8443);
  options.address = std::move(listen.address);
  options.port = listen.port;
  read_hosts(reader, options);
  read_classes(reader, options);
  read_models(reader, options);
  options.dra_driver_name = read_driver_name(reader);
  options.secret = name(reader, "webhook-secret", "the Secret of the certificates");
  options.configuration = name(reader, "webhook-configuration", "the MutatingWebhookConfiguration");
  const auto life = reader.get<Interval>("webhook-certificate-life").value;
  if (life && *life >= std::chrono::seconds(1)) {
    options.certificate_life = std::chrono::duration_cast<std::chrono::seconds>(*life);
  } else {
    reader.error("webhook-certificate-life", "a certificate has an end, and a beginning before it",
                 "write a duration such as 2160h");
  }
  return options;
}

}  // namespace

Result<ControllerOptions> load_controller_options(const Sources& sources) {
  OptionReader reader(sources, kUseController);
  const bool evict = reader.get<bool>("evict-unregistered");
  const bool changes = reader.get<bool>("mig-changes");
  const bool pools = !reader.get<std::string>("mig-pools").empty();
  auto webhook = read_webhook(reader);
  auto web = read_web_options(reader);
  const bool has_map = !(evict || changes || pools || webhook || web) ||
                       !reader.get<std::string>("config-map-out").empty();
  ControllerOptions options{
      .ns = name(reader, "namespace", "the namespace of the policy's ConfigMaps"),
      .config_map_out =
          has_map ? name(reader, "config-map-out", "the ConfigMap that the agents follow") : "",
      .mps_root = reader.get<std::string>("mps-root"),
      .agents = reader.get<std::string>("agents"),
      .evict_unregistered = evict,
      .mig_changes = changes,
      .mig_pools = pools ? name(reader, "mig-pools", "the ConfigMap of pools") : "",
      .webhook = std::move(webhook),
      .web = std::move(web),
      .leader_elect = reader.get<bool>("leader-elect"),
      .pod_name = reader.get<std::string>("pod-name"),
      .api_server = reader.api_server(),
      .log_level = reader.log_level()};
  return reader.result(std::move(options));
}

Result<CleanupOptions> load_cleanup_options(const Sources& sources) {
  OptionReader reader(sources, kUseCleanup);
  CleanupOptions options{.mode = mode(reader),
                         .timeout = timeout(reader),
                         .state_dir = reader.get<std::string>("state-dir"),
                         .release = reader.get<std::string>("release"),
                         .force = reader.get<bool>("force"),
                         .api_server = reader.api_server(),
                         .log_level = reader.log_level()};
  if (options.mode == CleanupOptions::Mode::kRollOut) {
    read_daemon_set(reader, options);
    options.patch = patch(reader);
  }
  return reader.result(std::move(options));
}

}  // namespace tranche::config
