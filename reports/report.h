#pragma once
#include <map>
#include <optional>
#include <string>

#include "codegen/codegen.h"

/// The reports of `moonloop show` and the kernel's methods, as text.
namespace moonloop {

std::string report_tree(const Kernel& k);
/// One line a dependence: kind, variable, the two instructions, the relation between their inames.
std::string report_dependences(const Kernel& k);
/// The same only between two instructions, in either direction. Fails `unknown-instruction`.
std::string report_dependences(const Kernel& k, const std::string& a, const std::string& b);
/// Which loops are parallel and why others are not, the distances of dependent instances, and bands
/// of loops that may change places (core/order/parallelism.h): a line for each.
std::string report_parallelism(const Kernel& k);
/// The same for programs.
std::string parallelism_as_json(const Kernel& k);
/// The loops as code generation plans them for `target`.
std::string report_schedule(const Kernel& k, Target target);
struct StatsOptions {
  std::optional<Target> target;                // whose barriers and launches count too
  std::map<std::string, std::int64_t> values;  // of parameters
};
/// The number of each thing, and operations and accesses as written, by instruction; then
/// report_counts().
std::string report_stats(const Kernel& k, const StatsOptions& options = {});
/// Operations, accesses and footprints as functions of the parameters, with the numbers where all
/// that they depend on has a value; arithmetic intensity. Where counting fails, the reason is
/// given.
std::string report_counts(const Kernel& k, const StatsOptions& options = {});

}  // namespace moonloop
