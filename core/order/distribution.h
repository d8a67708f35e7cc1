#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/model/kernel.h"

/// A loop whose statements get loops of their own, one after the other.
namespace moonloop {

/// Which instructions of the loop `iname` of `k` have to stay in one loop, as the lists of their
/// ids, in an order in which their loops can run, that of the list where it does not matter: the
/// strongly connected components of the dependences between instances in equal iterations of the
/// loops around. Cost: isl for each different pair of accesses of two instructions that their
/// subscripts do not put into one iteration.
std::vector<std::vector<std::string>> finest_distribution(const Kernel& k,
                                                          const std::string& iname);

/// Refuses `breaks-order`, or `not-proved`, with two instances, where an instruction depends on one
/// whose number in `group`, by id, is greater: that of a later loop. The instructions are those of
/// the loop.
void check_distribution(const Kernel& k, const std::string& iname,
                        const std::map<std::string, int>& group);

}  // namespace moonloop
