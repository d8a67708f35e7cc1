#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/model/match.h"

namespace moonloop {

struct BarrierOptions {
  std::string id_based_on = "barrier";
  std::vector<std::string> tags;
  BarrierScope scope = BarrierScope::Global;
  std::string mem_kind;  // `local` or `global`; empty: as the scope
  /// The loops around it; if absent, the sequential loops that all those instructions share; for a
  /// local one also those over groups, and over work-items where these have bounds of their own.
  std::optional<std::vector<std::string>> within_inames;
};

/// Puts a barrier after some instructions and before others.
///
///     y[i] = 2*x[i]              y[i] = 2*x[i]
///     z[j] = 3*x[j]      is      ... gbarrier
///                                z[j] = 3*x[j]
///
/// Refuses  no-match; unknown-iname
///          dependency-cycle  one of the first would have to run after one of the others
///          bad-barrier       `mem_kind` is neither `local` nor `global`
///          and all that check_kept_order refuses
Kernel add_barrier(const Kernel& k, const Match& before, const Match& after,
                   const BarrierOptions& o = {});

}  // namespace moonloop
