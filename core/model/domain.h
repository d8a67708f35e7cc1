#pragma once
#include <string>
#include <vector>

#include "core/model/affine.h"
#include "core/model/kernel.h"
#include "core/model/set_text.h"
#include "core/sets/named_sets.h"

/// The domains of a kernel's loops.
namespace moonloop {

/// Whether the bounds of `iname` depend on one of `names`, also through inames between them.
bool bounds_depend_on(const Kernel& k, const std::string& iname,
                      const std::vector<std::string>& names);

/// The domain of an instruction's instances: dimensions are `inames` in the given order, ancestors'
/// domains and the kernel's assumptions included; data-dependent parameters stay parameters. Cost:
/// one intersection per domain that is needed.
Set domain_of(const Kernel& k, const std::vector<std::string>& inames);

/// Index of the parent of each domain, or -1: the innermost domain that introduces one of its
/// parameters or the inames around the writer of a temporary that is one of its parameters.
std::vector<int> domain_parents(const Kernel& k);
/// Whether a domain is nested in two that are not nested in one another.
bool domains_branch(const Kernel& k);

/// The kernel's assumptions, and what the domains demand of parameters in order to be non-empty.
/// Never null.
Set context_of(const Kernel& k);

}  // namespace moonloop
