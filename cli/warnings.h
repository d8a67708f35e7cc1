#pragma once
#include <string>
#include <vector>

#include "cli/options.h"

/// Warnings on standard error about possible mistakes in a kernel or a command line.
namespace moonloop::cli {

/// `single-work-item`: a target runs all of a kernel in one.
void warn_of_single_work_item(const Common& c, const Kernel& k, Target target);
/// `unused-tag`: a device runs loops tagged `simd` in order.
void warn_of_unused_tags(const Common& c, const Kernel& k, Target target);
/// `no-instructions`: a kernel with neither instructions nor loops.
void warn_of_no_instructions(const Common& c, const Kernel& k);
/// `unused-iname`: a loop that the user wrote and that has no statements.
void warn_of_unused_inames(const Common& c, const Kernel& k);
/// `empty-loop`: a domain that has no points, for any parameters. Cost: for each domain a search
/// for a point near the origin, and isl where there is none.
void warn_of_empty_loops(const Common& c, const Kernel& k);
/// `widening-literal`: a temporary of no declared type, computed from float32, is float64 because
/// of a literal. Types are inferred twice where a kernel has such literals and temporaries.
void warn_of_widening_literals(const Common& c, const Kernel& k);
/// `unread-setting`: `read` are the names that scripts read in lp.args.
void warn_of_unread_settings(const Common& c, const std::vector<std::string>& read);

}  // namespace moonloop::cli
