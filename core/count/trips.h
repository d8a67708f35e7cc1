#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/model/kernel.h"

namespace moonloop {

/// By iname, the most values that it has in one iteration of the loops around it, gaps counted and
/// values for which nothing in it runs left out, where `params` are the parameters' values; those
/// that it does not have may be anything. Without inames for which there is no such number, or
/// where isl takes long to find it. Cost: isl, once for each iname.
std::map<std::string, std::int64_t> most_trips(const Kernel& k,
                                               const std::map<std::string, std::int64_t>& params);
/// Of these inames alone, which the kernel has.
std::map<std::string, std::int64_t> most_trips(const Kernel& k,
                                               const std::map<std::string, std::int64_t>& params,
                                               const std::vector<std::string>& inames);

}  // namespace moonloop
