#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/order/order.h"
#include "core/sets/linear_proof.h"

namespace moonloop {

/// { instances of the write -> later instances of the read of the same element }, in which the
/// inames `same` of both are equal, in parts: those in the same iteration of most loops first. Of
/// linear constraints, without isl; those of the read's instances are not among them. Nothing where
/// the relation is not known so, or the write may not run at all points of its domain.
std::optional<std::vector<LinearRows>> plain_flow(const RunOrder& o, const Variables& variables,
                                                  int writer, const Access& write, int reader,
                                                  const Access& read,
                                                  const std::vector<std::string>& same);

/// Whether some instance of the reader, which runs at all points of its domain, surely is in none
/// of these relations to it. True is certain.
bool plainly_misses(const RunOrder& o, int reader,
                    const std::vector<std::vector<LinearRows>>& flows);

}  // namespace moonloop
