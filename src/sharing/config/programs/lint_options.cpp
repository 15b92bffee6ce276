#include "config/programs/lint_options.h"

#include "config/programs/option_reader.h"

namespace tranche::config {
namespace {}  // namespace

Result<LintOptions> load_lint_options(const Sources& sources, std::vector<std::string> files) {
  OptionReader reader(sources, kUseLint);
  LintOptions options{.files = std::move(files),
                      .output = read_output_form(reader),
                      .fix_to = reader.get<std::string>("fix-to"),
                      .strict = reader.get<bool>("strict"),
                      .cluster = reader.get<bool>("cluster"),
                      .snapshot = reader.snapshot(),
                      .api_server = reader.api_server()};
  if (options.files.empty()) {
    reader.error(Error{Code::kInvalidArgument, "no file is named",
                       "name files or folders; - is standard input"});
  }
  // KUBECONFIG alone does not make lint ask a cluster: what it finds would depend on the machine.
  const bool named = reader.is_flag("kubeconfig") || reader.is_flag("context");
  if (named && reader.is_set("cluster") && !options.cluster) {
    reader.error("cluster", "a cluster is named and shall not be asked",
                 "leave out --cluster=false, or --kubeconfig and --context");
  }
  options.cluster = options.cluster || named;
  if (options.cluster && !named && !options.snapshot.empty()) {
    reader.error("snapshot", "it is given together with a cluster", "leave out one of them");
  }
  return reader.result(std::move(options));
}

}  // namespace tranche::config
