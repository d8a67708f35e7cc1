#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/rewrite/footprint.h"

/// The loops of staging instructions: over which points they run, and around what.
namespace moonloop {

/// Of `common`, the inames that the footprint depends on, with `needed` (which it does as well) and
/// those that the bounds of all these depend on.
std::set<std::string> needed_inames(const Kernel& k, const Footprint& f,
                                    const std::set<std::string>& common,
                                    std::set<std::string> needed);

/// The address space of a buffer that is used at `places`, is refilled for each value of `needed`
/// and holds the values over the inames `sweep`. `wanted` is kept unless it is Auto; `own_copy`:
/// work-items make a copy each where they can, and it stays Auto where they could share one: the
/// tags that the new loops get later decide. Refuses `private-sweep`, `swept-group`.
AddressSpace staging_space(const Kernel& k, AddressSpace wanted, const std::vector<Place>& places,
                           const std::set<std::string>& needed, const std::set<std::string>& sweep,
                           bool own_copy, const Span& at);

/// The space of a buffer that is filled in the loops `nest`: private where these number all
/// work-items, so that no later tag can make them share it.
AddressSpace settled_space(const Kernel& k, AddressSpace space, const std::vector<Place>& places,
                           const std::set<std::string>& nest);
/// Whether each work-item fills a buffer of that space by itself, as long as no tag says otherwise.
inline bool own_copies(AddressSpace space) {
  return space == AddressSpace::Private || space == AddressSpace::Auto;
}

enum class PointShape {
  Exact,   // a condition where no loop bounds say it
  Simple,  // the box where exact bounds tie the axes together in many ways
  Box,
};
/// The points that staging inames run over.
struct StagedPoints {
  Set points;    // { [names] }, from 0; outer inames and parameters are parameters
  Exprs guards;  // further conditions
};
/// `names`: the inames of the axes that are not trivial.
StagedPoints staged_points(const Footprint& f, const std::vector<std::string>& names,
                           PointShape shape);

/// Replaces points that are in many parts by all those within the extents whose element, which has
/// the subscripts `index` in an array of `shape`, exists. Reading more must do no harm.
void join_parts(StagedPoints& p, const Footprint& f, const std::vector<std::string>& names,
                const Exprs& index, const Exprs& shape);

/// Leaves out conditions on only kernel parameters, such as `m >= 1`, that only say that there is a
/// use: on parameters that nothing else of the points depends on and that are not in the shape of
/// `array`, whose elements at the points are read. Does nothing where the shape is not known.
void drop_idle_conditions(const Kernel& k, StagedPoints& p, const Footprint& f,
                          const std::string& array);

/// Adds the inames `fresh`, dimensions of `p.points`, to the domains and the loop order of `k`; all
/// other dimensions are inames already. `p.guards` grows where the bounds cannot be those of a
/// domain: they depend on independent loops. `extents`: by `fresh`.
void add_staging_domain(Kernel& k, StagedPoints& p, const std::vector<std::string>& fresh,
                        const Exprs& extents, const Span& at);

}  // namespace moonloop
