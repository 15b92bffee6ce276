#include "controller/webhook_secret.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/json_value.h"

namespace tranche::controller {

WebhookKeys keys_of(const cluster::Object& secret) {
  const auto root = json::parse(secret.json);
  const auto data = root ? root->find("data") : std::nullopt;
  const auto text = [&](std::string_view name) -> std::string {
    const auto value = data ? data->find(name) : std::nullopt;
    const auto encoded = value ? value->as_string() : std::nullopt;
    return encoded ? decode_base64(*encoded).value_or("") : "";
  };
  return {.authorities = text("ca.crt"),
          .authority_key = text("ca.key"),
          .certificate = text("tls.crt"),
          .key = text("tls.key")};
}

std::string patch_of(const cluster::Object& secret, const WebhookKeys& keys) {
  json::Value patch = json::Value::object();
  patch["metadata"]["resourceVersion"] = secret.resource_version;
  auto& data = patch["data"];
  data["ca.crt"] = encode_base64(keys.authorities);
  data["ca.key"] = encode_base64(keys.authority_key);
  data["tls.crt"] = encode_base64(keys.certificate);
  data["tls.key"] = encode_base64(keys.key);
  return patch.text();
}

Result<std::optional<std::string>> trust_patch(const cluster::Object& configuration,
                                               const std::string& authorities) {
  ASSIGN_OR_RETURN(const auto root, json::parse(configuration.json));
  const auto encoded = encode_base64(authorities);
  json::Value operations = json::Value::array();
  const auto read = json::read_fields(root, [&](const json::Fields& fields) {
    std::size_t index = 0;
    for (const auto& webhook : fields.list("webhooks")) {
      const auto pointer = fmt::format("/webhooks/{}", index++);
      const auto name = webhook.need<std::string>("name");
      if (webhook.object("clientConfig").text("caBundle") == encoded) continue;
      operations.push_back(
          json::Value{{"op", "test"}, {"path", pointer + "/name"}, {"value", name}});
      operations.push_back(json::Value{
          {"op", "add"}, {"path", pointer + "/clientConfig/caBundle"}, {"value", encoded}});
    }
    return true;
  });
  if (!read) return std::unexpected(Error(read.error()).with_context("webhook configuration"));
  if (operations.empty()) return std::nullopt;
  return operations.text();
}

}  // namespace tranche::controller
