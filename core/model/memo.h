#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/name_index.h"
#include "core/model/proof_keys.h"
#include "core/sets/isl.h"

/// Answers of isl that the steps of a script need again and again: most of a kernel stays the same
/// from one transform to the next.
namespace moonloop {

struct Footprint;
struct KeptOrder;
struct LinearRows;
struct Ordered;

/// One per thread. Keys hold the addresses of isl sets; the memo owns a reference to each of these,
/// so an address stands for one value until the memo is cleared.
class Memo {
 public:
  /// Whether remembered orders are computed once more and compared, an InternalError where they
  /// differ: for tests of the keys. Costs what the memo saves.
  bool compares = false;
  /// Domains of a kernel, and by iname which of them has it.
  struct Homes {
    std::vector<Set> domains;
    NameIndex inames;  // their characters are those of the domains
  };
  /// Of the kernels that Kernel::home_of was asked about last.
  std::deque<Homes> homes;
  /// Sets by their texts, in which names are only numbers, each with its own names by number.
  std::unordered_map<std::string, std::pair<Set, std::vector<std::string>>> texts;
  /// Relations by the expressions that they are made of.
  std::unordered_map<std::string, Map> maps;
  /// The points at which conditions hold, by their expressions.
  std::unordered_map<std::string, Set> conditions;
  /// Integer expressions as functions of inames.
  std::unordered_map<std::string, PwAff> values;
  std::unordered_map<std::string, std::shared_ptr<const Footprint>> footprints;
  /// The ranges of the values of inames by the plain bounds of their domains
  /// (core/model/mixed_radix.h).
  std::unordered_map<std::string, std::optional<std::int64_t>> ranges;
  /// Numbers of iterations by the loops that decide about them (core/count/trips.cpp).
  std::unordered_map<std::string, std::optional<std::int64_t>> trips;
  /// Whether a nest keeps an order, and which pairs of accesses were proved.
  std::unordered_map<NestKey, bool, KeyHash> nests;
  std::unordered_set<ProofKey, KeyHash> proofs;
  /// The constraints of sets that the memo holds, see linear_rows.
  std::unordered_map<const isl_set*, std::shared_ptr<const LinearRows>> rows;
  /// Other questions about statements, answered with yes.
  std::unordered_set<QuestionKey, KeyHash> questions;
  /// Whether a read finds what was written in the same iteration of some loops.
  std::unordered_map<CoverKey, bool, KeyHash> covered;
  /// The latest kernels whose order was proved, the last one first (core/order/kept_order.h).
  std::deque<std::shared_ptr<const KeptOrder>> kept;
  /// The latest kernels that were nested, the last one first (core/order/ordered.cpp).
  std::deque<std::shared_ptr<const Ordered>> orders;

  /// The set's address, as a part of a key.
  const isl_set* hold(const Set& s);
  /// The same within a text: of one length, not to be read.
  std::string name(const Set& s);
  std::string name(const Map& m);
  /// Whether the map has been named, and so is likely to be used again.
  bool holds(const Map& m) const { return held_maps_.count(m.get()) > 0; }
  bool holds(const Set& s) const { return held_.count(s.get()) > 0; }
  /// A number that two sets share if they are equal but for the names of their dimensions.
  std::size_t shape(const Set& s);
  /// The same for a map as the set of its pairs; remembered where the memo holds the map.
  std::size_t shape(const Map& m);
  /// The same for one that will not be used again: it is not held.
  std::size_t shape_of_new(const Set& s);
  /// What `make` gave for this key before, else its result, which is named from then on.
  template <class F>
  auto made(std::string key, F make) -> decltype(make()) {
    auto& known = table(static_cast<decltype(make())*>(nullptr));
    if (const auto it = known.find(key); it != known.end()) return it->second;
    auto out = make();
    name(out);
    known.emplace(std::move(key), out);
    return out;
  }
  /// linear_rows(s), null for nothing.
  std::shared_ptr<const LinearRows> rows_of(const Set& s);
  /// Forgets everything when it has become large. No key is kept across a call: `nest` makes it.
  void limit();

 private:
  auto& table(const Map*) { return made_maps_; }
  auto& table(const Set*) { return made_sets_; }

  // By what they are made of, and how.
  std::unordered_map<std::string, Map> made_maps_;
  std::unordered_map<std::string, Set> made_sets_;
  std::unordered_map<isl_set*, Set> held_;
  std::unordered_map<isl_map*, Map> held_maps_;
  std::unordered_map<isl_map*, std::size_t> map_shapes_;  // of those that are held
  std::unordered_map<isl_set*, std::size_t> shapes_;      // of those that are held
  std::unordered_multimap<std::uint32_t, std::pair<Set, std::size_t>> distinct_;  // by hash
};

Memo& memo();

}  // namespace moonloop
