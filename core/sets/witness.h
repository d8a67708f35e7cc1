#pragma once
#include <vector>

#include "core/sets/isl.h"
#include "core/sets/linear_proof.h"

/// Quick proofs that sets contain others, for questions that mostly have that answer; whatever they
/// do not see is for isl, whose differences eliminate quotients first, which takes long.
namespace moonloop {

/// `s` without points each of which surely is the second of a pair: parts of it, or those of a part
/// on one side of a plane.
///
/// Points are left out that have witnesses, first elements that are one function of the point:
/// equations are solved for what they determine, with the quotient by the greatest coefficient
/// first, as digits of numbers are, and what has only bounds is tried at these. Linear constraints
/// then show that the pair has all that it needs (core/sets/linear_proof.h), or all but one of them
/// do, which is the plane.
///
/// Cost: by part of both, some proofs for each constraint of the pairs.
Set without_reached(const Set& s, const Map& pairs);
/// The same, with the parts of the pairs as rows over the dimensions of both; the more likely ones
/// first.
Set without_reached(const Set& s, const std::vector<LinearRows>& pairs);

}  // namespace moonloop
