#include "top/view/filter_fields.h"

#include <algorithm>
#include <array>

namespace tranche::top {
namespace {

using Number = std::optional<double>;

Number number(const auto& value) {
  return value ? Number(static_cast<double>(*value)) : std::nullopt;
}
Number percent(const std::optional<double>& share) {
  return share ? Number(*share * 100) : std::nullopt;
}

std::string part_of_owner(const Row& row, std::string usage::ContainerFigures::* of_container,
                          std::string usage::ProcessUsage::* of_process) {
  if (row.container != nullptr) return row.container->*of_container;
  return row.process == nullptr ? "" : row.process->*of_process;
}

std::string state_of(const Row& row) {
  const auto figures = figures_of(row);
  if (!figures.used && !figures.compute) return "unknown";
  return figures.used.value_or(0) > 0 || figures.compute.value_or(0) > 0 ? "used" : "idle";
}

std::string owner_of(const Row& row) {
  if (row.container != nullptr) return "container";
  return row.process == nullptr ? "" : std::string(to_string(row.process->owner));
}

Number fill_of(const Row& row) {
  const auto figures = figures_of(row);
  if (!figures.used || figures.limit.value_or(0) == 0) return std::nullopt;
  return 100 * static_cast<double>(*figures.used) / static_cast<double>(*figures.limit);
}

constexpr auto kFields = std::to_array<Field>({
    {"node", FieldType::kText, "name of the node",
     [](const Row& row) { return row.node == nullptr ? std::string() : row.node->name; }},
    {"ns", FieldType::kText, "namespace",
     [](const Row& row) {
       return part_of_owner(row, &usage::ContainerFigures::ns, &usage::ProcessUsage::ns);
     }},
    {"pod", FieldType::kText, "name of the Pod",
     [](const Row& row) {
       return part_of_owner(row, &usage::ContainerFigures::pod, &usage::ProcessUsage::pod);
     }},
    {"container", FieldType::kText, "name of the container",
     [](const Row& row) {
       return part_of_owner(row, &usage::ContainerFigures::container,
                            &usage::ProcessUsage::container);
     }},
    {"resource", FieldType::kText, "nvidia.com/gpu.shared, ...",
     [](const Row& row) {
       return row.container == nullptr ? std::string() : row.container->resource;
     }},
    {"mechanism", FieldType::kText, "exclusive, mig, time-slicing, mps, share, none",
     [](const Row& row) {
       return row.container == nullptr ? std::string()
                                       : std::string(to_string(row.container->mechanism));
     }},
    {"tier", FieldType::kText, "the GPUTier that serves the container",
     [](const Row& row) { return row.container == nullptr ? std::string() : row.container->tier; }},
    {"profile", FieldType::kText, "profile of the MIG instance",
     [](const Row& row) {
       if (row.instance != nullptr) return row.instance->profile;
       return row.container == nullptr ? std::string() : row.container->mig_profile;
     }},
    {"model", FieldType::kText, "product name of the GPU",
     [](const Row& row) { return row.gpu == nullptr ? std::string() : row.gpu->model; }},
    {"uuid", FieldType::kText, "UUID of the GPU",
     [](const Row& row) { return row.gpu == nullptr ? std::string() : row.gpu->uuid; }},
    {"process", FieldType::kText, "name of the program, of a process in no container",
     [](const Row& row) { return row.process == nullptr ? std::string() : row.process->name; }},
    {"owner", FieldType::kText, "container, host, unknown", owner_of},
    {"state", FieldType::kText, "used, idle, unknown", state_of},
    {"gpu", FieldType::kNumber, "index of the GPU", nullptr,
     [](const Row& row) {
       return row.gpu == nullptr ? std::nullopt : Number(static_cast<double>(row.gpu->index));
     }},
    {"mem", FieldType::kBytes, "memory used", nullptr,
     [](const Row& row) { return number(figures_of(row).used); }},
    {"peak", FieldType::kBytes, "largest memory used", nullptr,
     [](const Row& row) { return number(figures_of(row).peak); }},
    {"limit", FieldType::kBytes, "memory that it may use", nullptr,
     [](const Row& row) { return number(figures_of(row).limit); }},
    {"fill", FieldType::kPercent, "memory used, of the limit", nullptr, fill_of},
    {"compute", FieldType::kPercent, "GPU time of the last minute", nullptr,
     [](const Row& row) { return percent(figures_of(row).compute); }},
    {"promised", FieldType::kPercent, "GPU time promised", nullptr,
     [](const Row& row) { return percent(figures_of(row).promised); }},
    {"waited", FieldType::kPercent, "time of the last minute waited for the GPU", nullptr,
     [](const Row& row) { return percent(figures_of(row).waited); }},
    {"util", FieldType::kPercent, "utilisation of the GPU", nullptr,
     [](const Row& row) {
       return row.gpu == nullptr ? std::nullopt : percent(row.gpu->utilization);
     }},
    {"temp", FieldType::kNumber, "degrees Celsius of the GPU", nullptr,
     [](const Row& row) {
       return row.gpu == nullptr ? std::nullopt : number(row.gpu->temperature_c);
     }},
    {"power", FieldType::kNumber, "watts of the GPU", nullptr,
     [](const Row& row) { return row.gpu == nullptr ? std::nullopt : number(row.gpu->power_w); }},
    {"xid", FieldType::kNumber, "last XID of the GPU", nullptr,
     [](const Row& row) { return row.gpu == nullptr ? std::nullopt : number(row.gpu->last_xid); }},
    {"pid", FieldType::kNumber, "of a process in no container", nullptr,
     [](const Row& row) {
       return row.process == nullptr ? std::nullopt : Number(static_cast<double>(row.process->pid));
     }},
});

}  // namespace

std::span<const Field> fields() { return kFields; }

const Field* find_field(std::string_view name) {
  const auto found = std::ranges::find(kFields, name, &Field::name);
  return found == kFields.end() ? nullptr : &*found;
}

}  // namespace tranche::top
