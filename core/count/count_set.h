#pragma once
#include <string>

#include "core/base/source.h"
#include "core/sets/isl.h"

namespace moonloop {

/// The number of integer points of a set as a function of its parameters: exact, a quasi-polynomial
/// (a polynomial in parameters and in floors of affine forms of them) on each of finitely many
/// pieces of the parameters' space, zero elsewhere.
///
///     [n] -> { [i, j] : 0 <= j <= i < n }              n >= 1:  (n^2 + n)/2
///     [n] -> { [i] : 0 <= i < n and i mod 3 = 1 }      n >= 2:  floor((n + 1)/3)
///
/// The set is cut into disjoint basic sets, and these into groups of variables that no constraint
/// ties together, whose numbers are multiplied. In a group one variable after the other is summed
/// over: by cases, which of its bounds is the tightest one, in closed form in each; where floors
/// have the variable, by residue classes. Bounds that are not integers leave floors, which need no
/// further cases: between two reals there are floor(high) - ceil(low) + 1 integers as long as
/// low <= high.
///
/// Fails, at `at`, with `what` naming the counted things: `unbounded-count` (infinitely many
/// points), `count-too-hard` (a fixed number of steps is not enough). Cost: exponential in the
/// number of variables at worst; loops of programs take milliseconds.
///
/// Source: W. Pugh, "Counting solutions to Presburger formulas: how and why", PLDI 1994; S.
/// Verdoolaege et al., "Counting integer points in parametric polytopes using Barvinok's rational
/// functions", Algorithmica 48, 2007, for what the result looks like in general.
PwQPolynomial count_set(const Set& set, const std::string& what, const Span& at = {});

}  // namespace moonloop
