#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/isl.h"

/// Answers of isl that the steps of a script ask for again and again: most of a kernel stays as it
/// is from one transform to the next.
namespace moonloop {

struct KeptOrder;
struct Ordered;

/// One per thread. Keys hold the addresses of isl sets; the memo owns a reference to each of these,
/// so an address stands for one value until the memo is cleared.
class Memo {
 public:
  /// Sets by their texts, of which names are only numbers, each with its own names by number.
  std::unordered_map<std::string, std::pair<Set, std::vector<std::string>>> texts;
  /// Domains by their makers' addresses and their inames.
  std::unordered_map<std::string, Set> domains;
  /// Whether a nest keeps an order, and which pairs of accesses were proved.
  std::unordered_map<std::string, bool> nests;
  std::unordered_set<std::string> proofs;
  /// Whether a read finds what was written in the same iteration of some loops.
  std::unordered_map<std::string, bool> covered;
  /// The latest kernels whose order was proved, the last one first (core/kept_order.h).
  std::deque<std::shared_ptr<const KeptOrder>> kept;
  /// The latest kernels that were nested, the last one first (core/ordered.cpp).
  std::deque<std::shared_ptr<const Ordered>> orders;

  /// The set's address, as a part of a key: of one length, not to be read.
  std::string name(const Set& s);
  /// A number that two sets have in common if they are one but for the names of their dimensions.
  std::size_t shape(const Set& s);
  /// The same for one that nobody asks for again: it is not held.
  std::size_t shape_of_new(const Set& s);
  /// Forgets everything when it has become large. No key is kept across a call: `nest` makes it.
  void limit();

 private:
  std::unordered_map<isl_set*, Set> held_;
  std::unordered_map<isl_set*, std::size_t> shapes_;  // of those that are held
  std::unordered_multimap<std::uint32_t, std::pair<Set, std::size_t>> distinct_;  // by hash
};

Memo& memo();

}  // namespace moonloop
