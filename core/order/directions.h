#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/order/parallelism.h"

/// The distances of dependent instances, and what they say of loops that change places.
namespace moonloop {

struct Directions {
  std::vector<CarriedDependence> dependences;
  /// By loop: declared reductions whose terms it runs over.
  std::map<std::string, std::vector<LoopReduction>> reductions;
  /// By loop: how many of the loops outside of it have to stay outside of each band that it is in.
  std::map<std::string, std::size_t> fixed;
};

/// Of a legal kernel; of what the loop `within` and those in it carry, where it is not empty. Cost:
/// see parallelism().
Directions directions(const Kernel& k, const std::string& within = {});

}  // namespace moonloop
