#pragma once
// Which generation of DCGM's names the metrics of GPUs have: those of dcgm-exporter up to 4.8,
// those since 4.9, or both. A name that both have is written once.

namespace tranche {

enum class DcgmNames { kBoth, k48, k49 };

}  // namespace tranche
