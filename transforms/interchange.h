#pragma once
#include <string>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

namespace moonloop {

/// Two loops, one inside the other, change places; loops between them stay where they are.
///
///     for i: for k: for j: c[i, j] += a[i, k]    with i and j    for j: for k: for i: …
///
/// The order counts from then on as a demand of prioritize_loops does.
///
/// Refuses  unknown-iname
///          not-nested      they are one, or no statement is in both
///          cannot-nest     some statement is in the outer loop alone, or bounds are computed in it
///          breaks-order    a dependence would run backwards
/// Cost     a proof of order
Kernel interchange(const Kernel& k, const std::string& iname, const std::string& other,
                   Proof proof = Proof::Made);

}  // namespace moonloop
