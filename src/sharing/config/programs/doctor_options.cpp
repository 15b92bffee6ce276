#include "config/programs/doctor_options.h"

#include "config/programs/option_reader.h"

namespace tranche::config {

Result<DoctorOptions> load_doctor_options(const Sources& sources) {
  OptionReader reader(sources, kUseDoctor);
  DoctorOptions options{.output = {},
                        .driver_root = reader.get<std::string>("driver-root-ctr-path"),
                        .host_root = reader.get<std::string>("host-root"),
                        .kubelet_root = reader.get<std::string>("kubelet-root"),
                        .state_dir = reader.get<std::string>("state-dir"),
                        .arbiter_state_dir = reader.get<std::string>("arbiter-state-dir"),
                        .metrics_address = reader.get<std::string>("metrics-address"),
                        .node_name = reader.get<std::string>("node-name"),
                        .api_server = reader.api_server()};
  if (const auto form = load_output_form(sources, kUseDoctor)) {
    options.output = *form;
  } else {
    reader.error(form.error());
  }
  if (!reader.get<bool>("node")) {
    reader.error(Error{Code::kInvalidArgument, "what to look at is not said",
                       "add --node, and run it in an agent's container"});
  }
  return reader.result(std::move(options));
}

}  // namespace tranche::config
