#include "admission/claim_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "admission/label.h"
#include "admission/names.h"
#include "admission/template_name.h"
#include "base/first_few.h"
#include "base/json_value.h"
#include "base/printable.h"
#include "base/utf8.h"

namespace tranche::admission {
namespace {

// The models without duplicates, in the fleet's order; of equal names the smallest memory counts.
std::vector<DraModel> distinct(const std::vector<DraModel>& models) {
  std::vector<DraModel> found;
  for (const auto& model : models) {
    const auto same = std::ranges::find(found, model.product, &DraModel::product);
    if (same == found.end()) {
      found.push_back(model);
    } else {
      same->memory = std::min(same->memory, model.memory);
    }
  }
  return found;
}

// floor(percent of the memory) in Mi, without overflow.
std::uint64_t mib_of(Bytes memory, int percent) {
  constexpr std::uint64_t kParts = std::uint64_t{100} << 20U;
  const auto times = static_cast<std::uint64_t>(percent);
  return memory.value / kParts * times + memory.value % kParts * times / kParts;
}

json::Value capacity_of(std::uint64_t mib, int percent) {
  json::Value requests = json::Value::object();
  requests["memory"] = fmt::format("{}Mi", mib);
  requests["compute"] = std::to_string(percent);
  json::Value capacity = json::Value::object();
  capacity["requests"] = requests;
  return capacity;
}

json::Value selector_of(std::string expression) {
  json::Value selector = json::Value::object();
  selector["cel"]["expression"] = std::move(expression);
  return selector;
}

class TemplateMaker {
 public:
  TemplateMaker(const std::vector<Share>& shares, const Fleet& fleet, const ClaimOptions& options)
      : shares_(shares), models_(distinct(fleet.dra_models)), options_(options) {}

  Result<ClaimTemplate> make() {
    TRY(fits_on_one());
    ASSIGN_OR_RETURN(auto name, template_name(shares_));
    auto requests = json::Value::array();
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      ASSIGN_OR_RETURN(auto alternatives, alternatives_of(shares_[i]));
      json::Value request = json::Value::object();
      request["name"] = request_name(i, shares_.size());
      request["firstAvailable"] = std::move(alternatives);
      requests.push_back(std::move(request));
    }
    auto json = whole(name, std::move(requests)).text();
    return ClaimTemplate{.name = std::move(name), .json = std::move(json)};
  }

 private:
  Result<void> fits_on_one() const {
    int percent = 0;
    for (const auto& share : shares_) percent += share.percent;
    if (percent <= 100 || shares_.size() == 1) return {};
    return fail(
        Code::kInvalidArgument,
        fmt::format("together the containers ask for {} % of one GPU", percent),
        fmt::format("ask for 100 % at most, or remove the annotation {}", kTogetherAnnotation));
  }

  Result<json::Value> alternatives_of(const Share& share) const {
    if (share.memory) return in_bytes(share);
    if (models_.size() > kMostModels) {
      std::vector<std::string> products;
      for (const auto& model : models_) products.push_back(printable(model.product, 64));
      return fail(Code::kFailedPrecondition,
                  fmt::format("a fraction can be claimed of at most {} models of GPUs, and there "
                              "are {}: {}",
                              kMostModels, models_.size(), first_few(products, 16)),
                  fmt::format("ask for bytes of memory instead (annotations {} and {}), or take "
                              "nodes out of mode dra: kubectl label node NODE tranche.dev/mode-",
                              kMemoryAnnotation, kComputeAnnotation));
    }
    return by_model(share);
  }

  Result<json::Value> in_bytes(const Share& share) const {
    const auto largest = std::ranges::max_element(models_, {}, &DraModel::memory);
    if (largest == models_.end() || largest->memory < *share.memory) return too_small(share);
    json::Value one = json::Value::object();
    one["name"] = "any";
    one["deviceClassName"] = options_.device_class;
    one["capacity"] = capacity_of(share.memory->mib(), share.percent);
    auto alternatives = json::Value::array();
    alternatives.push_back(std::move(one));
    return alternatives;
  }

  Result<json::Value> by_model(const Share& share) const {
    auto alternatives = json::Value::array();
    std::set<std::string> names;
    for (const auto& model : models_) {
      const auto mib = mib_of(model.memory, share.percent);
      if (mib == 0) continue;
      ASSIGN_OR_RETURN(auto expression, model_expression(model, options_));
      json::Value one = json::Value::object();
      one["name"] = unique(product_label(model.product), names);
      one["deviceClassName"] = options_.device_class;
      one["selectors"].push_back(selector_of(std::move(expression)));
      one["capacity"] = capacity_of(mib, share.percent);
      alternatives.push_back(std::move(one));
    }
    if (alternatives.empty()) return too_small(share);
    return alternatives;
  }

  std::unexpected<Error> too_small(const Share& share) const {
    if (models_.empty()) {
      return fail(Code::kFailedPrecondition, "no node is in mode dra",
                  "kubectl label node NODE tranche.dev/mode=dra");
    }
    const auto largest = std::ranges::max_element(models_, {}, &DraModel::memory);
    return fail(Code::kFailedPrecondition,
                fmt::format("no model of GPU can give {}: the largest has {}Mi", describe(share),
                            largest->memory.mib()),
                "ask for less memory");
  }

  static std::string unique(const std::string& label, std::set<std::string>& names) {
    int number = 1;
    while (!names.insert(numbered_label(label, number)).second) ++number;
    return numbered_label(label, number);
  }

  json::Value whole(const std::string& name, json::Value requests) const {
    json::Value object = json::Value::object();
    object["apiVersion"] = "resource.k8s.io/v1";
    object["kind"] = "ResourceClaimTemplate";
    object["metadata"]["name"] = name;
    object["metadata"]["labels"][kShareLabel] = "true";
    object["spec"]["metadata"]["labels"][kShareLabel] = "true";
    auto& devices = object["spec"]["spec"]["devices"];
    devices["requests"] = std::move(requests);
    if (shares_.size() > 1) {
      json::Value constraint = json::Value::object();
      constraint["matchAttribute"] = options_.driver + "/uuid";
      devices["constraints"].push_back(std::move(constraint));
    }
    return object;
  }

  const std::vector<Share>& shares_;
  std::vector<DraModel> models_;
  const ClaimOptions& options_;
};

}  // namespace

Result<ClaimTemplate> claim_template(const std::vector<Share>& shares, const Fleet& fleet,
                                     const ClaimOptions& options) {
  return TemplateMaker(shares, fleet, options).make();
}

std::string request_name(std::size_t index, std::size_t count) {
  return count == 1 ? "gpu" : fmt::format("gpu-{}", index);
}

Result<std::string> model_expression(const DraModel& model, const ClaimOptions& options) {
  ASSIGN_OR_RETURN(const auto driver, cel_string(options.driver));
  ASSIGN_OR_RETURN(const auto product, cel_string(model.product));
  return fmt::format("device.attributes[{}].productName == {}", driver, product);
}

Result<std::string> cel_string(std::string_view text) {
  std::string out = "'";
  while (!text.empty()) {
    const auto step = utf8_step(text);
    if (!step.is_valid) {
      return fail(Code::kInvalidArgument, fmt::format("\"{}\" is no UTF-8", printable(text, 64)));
    }
    const char c = text.front();
    if (c == '\'' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += text.substr(0, step.length);
    }
    text.remove_prefix(step.length);
  }
  return out + '\'';
}

std::string product_label(std::string_view product) {
  auto label = dns_label(product);
  for (const std::string_view maker : {"nvidia-", "tesla-"}) {
    if (label.starts_with(maker)) label.erase(0, maker.size());
  }
  return label.empty() ? "gpu" : label;
}

}  // namespace tranche::admission
