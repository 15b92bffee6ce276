// How long a review of the webhook takes for an API server: TLS on loopback, one kept connection,
// requests one after the other at a steady pace. The cluster is a fake, so only our part is
// measured: TLS, HTTP, reading, rewriting, answering.
//
//     webhook_latency [requests a second] [seconds] [claims]
//
// With `claims` the reviews are of claims of shares in 20 namespaces with a quota, each a new one:
// the ledger of its namespace grows by it, in two writes.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "admission/quota/own_quota.h"
#include "base/base64.h"
#include "controller/fraction_webhook.h"
#include "controller/quota_watch.h"
#include "controller/quota_webhook.h"
#include "controller/share_book.h"
#include "controller/webhook_keys.h"
#include "support/fake_objects.h"
#include "support/https_client.h"
#include "support/wait.h"

namespace {

using namespace tranche;
using nlohmann::json;
using Steady = std::chrono::steady_clock;

void put_models(test::FakeObjects& objects) {
  for (int i = 0; i < 4; ++i) {
    const auto name = "node-" + std::to_string(i);
    const json device = {{"name", "gpu-0"},
                         {"allowMultipleAllocations", true},
                         {"attributes", {{"productName", {{"string", "Model " + name}}}}},
                         {"capacity", {{"memory", {{"value", "46068Mi"}}}}}};
    const json pool = {{"name", name}, {"generation", 1}, {"resourceSliceCount", 1}};
    const json slice = {{"metadata", {{"name", name}}},
                        {"spec",
                         {{"driver", "gpu.nvidia.com"},
                          {"nodeName", name},
                          {"pool", pool},
                          {"devices", json::array({device})}}}};
    objects.put(cluster::kResourceSlice, slice.dump());
  }
}

void put_secret(test::FakeObjects& objects) {
  const auto keys =
      controller::next_keys({}, {.hosts = {"127.0.0.1"}, .life = std::chrono::hours(1)},
                            std::chrono::system_clock::now(), false);
  const json data = {{"tls.crt", encode_base64((*keys)->keys.certificate)},
                     {"tls.key", encode_base64((*keys)->keys.key)}};
  const json secret = {{"metadata", {{"namespace", "tranche"}, {"name", "webhook"}}},
                       {"data", data}};
  objects.put(cluster::kSecret, secret.dump());
}

// A Pod of three containers as an API server sends it, with 8 KiB of irrelevant content.
std::string review() {
  json containers = json::array();
  for (const auto* name : {"main", "side", "other"}) {
    containers.push_back(
        {{"name", name},
         {"image", std::string(64, 'i')},
         {"env", json::array({{{"name", "A"}, {"value", std::string(2700, 'v')}}})},
         {"resources", {{"limits", {{"nvidia.com/gpu", "500m"}}}}}});
  }
  const json pod = {{"apiVersion", "v1"},
                    {"kind", "Pod"},
                    {"metadata", {{"name", "p"}, {"namespace", "shop"}}},
                    {"spec", {{"containers", containers}}}};
  return json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"request",
               {{"uid", "u-1"}, {"namespace", "shop"}, {"operation", "CREATE"}, {"object", pod}}}}
      .dump();
}

constexpr int kNamespaces = 20;

void put_quotas(test::FakeObjects& objects) {
  const std::string gpus(admission::quota::kQuotaResource);
  for (int i = 0; i < kNamespaces; ++i) {
    const auto ns = "team-" + std::to_string(i);
    const json quota = {{"metadata", {{"name", "gpus"}, {"namespace", ns}}},
                        {"spec", {{"hard", {{gpus, "1000"}}}}}};
    objects.put(cluster::kResourceQuota, quota.dump());
    auto ours = json::parse(admission::quota::new_own_quota({}, {{"gpus", 1'000'000, 0}}, {}));
    ours["metadata"]["namespace"] = ns;
    ours["status"] = {{"hard", {{gpus, "1000"}}}, {"used", {{gpus, "0"}}}};
    objects.put(cluster::kResourceQuota, ours.dump());
  }
}

std::string claim_review(int number) {
  const auto ns = "team-" + std::to_string(number % kNamespaces);
  const auto uid = fmt::format("{:08}-0000-4000-8000-000000000000", number);
  const json exactly = {{"deviceClassName", "gpu-share"},
                        {"capacity", {{"requests", {{"memory", "4Gi"}, {"compute", "10"}}}}}};
  const json claim = {
      {"metadata", {{"name", "c"}, {"namespace", ns}, {"uid", uid}}},
      {"spec",
       {{"devices", {{"requests", json::array({{{"name", "gpu"}, {"exactly", exactly}}})}}}}}};
  return json{
      {"apiVersion", "admission.k8s.io/v1"},
      {"kind", "AdmissionReview"},
      {"request", {{"uid", "u-1"}, {"namespace", ns}, {"operation", "CREATE"}, {"object", claim}}}}
      .dump();
}

double at(const std::vector<double>& sorted, double part) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<std::size_t>(part * static_cast<double>(sorted.size())))];
}

}  // namespace

int main(int argc, char** argv) {
  const int rate = argc > 1 ? std::atoi(argv[1]) : 200;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 20;
  const bool is_of_claims = argc > 3 && std::string_view(argv[3]) == "claims";
  const Log log(LogLevel::kWarn);
  const SystemClock clock;
  test::FakeObjects objects;
  put_models(objects);
  put_secret(objects);
  put_quotas(objects);
  controller::SharedWatches watches(objects, log);
  const controller::WorkerContext context{
      .objects = objects, .clock = clock, .log = log, .watches = watches};
  const controller::FleetWatch fleet(context, {});
  controller::ShareTemplates templates(context);
  const controller::QuotaWatch quotas(context, {});
  controller::ShareBook book(context, fleet, {});
  controller::QuotaWebhook claims(context, fleet, quotas, book, {});
  controller::FractionWebhook webhook(
      context, fleet, templates,
      {.address = "127.0.0.1",
       .secret = {.ns = "tranche", .name = "webhook"},
       .review_claim = [&](const std::string& body, const std::stop_token& stop) {
         return claims.answer(body, stop);
       }});
  if (!test::eventually([&] { return !webhook.trouble() && !quotas.trouble(); })) {
    fmt::print(stderr, "{}\n", webhook.trouble().value_or(""));
    return 1;
  }
  test::HttpsClient client(webhook.port());
  const auto pod = review();
  std::vector<double> times;
  auto due = Steady::now();
  for (int i = 0; i < rate * seconds; ++i) {
    std::this_thread::sleep_until(due);
    // From its due time, so that waiting for the previous one counts too.
    const auto answer =
        is_of_claims ? client.ask("/quota", claim_review(i)) : client.ask("/fractions", pod);
    times.push_back(std::chrono::duration<double, std::milli>(Steady::now() - due).count());
    if (answer.find("\"allowed\":true") == std::string::npos) {
      fmt::print(stderr, "{}\n", answer);
      return 1;
    }
    due += std::chrono::microseconds(1'000'000 / rate);
  }
  std::ranges::sort(times);
  fmt::print("{} reviews at {} a second: median {:.2f} ms, p99 {:.2f} ms, longest {:.2f} ms\n",
             times.size(), rate, at(times, 0.5), at(times, 0.99), times.back());
  return 0;
}
