#pragma once
#include <optional>

#include "core/sets/isl.h"

namespace moonloop {

/// The constraints of `s` that do not follow from `context`, a set of parameters, and the others:
/// the result of isl_set_gist_params(), querying isl only about constraints that no dimension shows
/// to be needed, and then only about the names in these. Nothing for sets with quotients or of
/// several parts.
std::optional<BasicSet> syntactic_gist(const Set& s, const Set& context);

/// isl_set_gist(). isl 0.25 writes beyond its memory where an equality of a part of `s` contradicts
/// the context: such parts, of which any simplification is right, are left out before; `s` as it is
/// where nothing else is left. Cost: that, and a look for a common point for each part with an
/// equality.
Set gist(const Set& s, const Set& context);
/// The same for a set of parameters.
Set gist_params(const Set& s, const Set& context);

/// gist_params(); `s` as it is where the context is empty: there isl takes any set, also
/// one without bounds. Cost: that, and a look for a point of the context.
Set gist_of_loops(const Set& s, const Set& context);

}  // namespace moonloop
