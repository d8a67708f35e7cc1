#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/expr/keys.h"
#include "core/model/step.h"
#include "core/sets/isl.h"

/// Keys of remembered answers about orders (core/model/memo.h): all that the answer depends on.
/// Sets are identified by their addresses; the memo holds them, so that these stay theirs.
namespace moonloop {

/// How iterations of a loop, or work-items, run for a proof.
enum class Runs : char { InOrder, Trusted, Shared, AtOnce };

using ClaimsKey = std::vector<std::pair<Claim::Kind, std::vector<std::string>>>;

/// Values in loops.
struct ValuesKey {
  std::vector<std::string> loops;
  std::vector<ExprKey> values;

  auto fields() const { return std::tie(loops, values); }
  bool operator==(const ValuesKey& o) const { return fields() == o.fields(); }
};

/// Whether loops alone keep the order of a pair in one proof (Legality::loops_keep).
struct PairInLoopsKey {
  int nest_a = 0, nest_b = 0;
  bool one_statement = false, first_was = false, first_is = false, commutes = false;
  std::vector<std::string> equal;

  auto fields() const {
    return std::tie(nest_a, nest_b, one_statement, first_was, first_is, commutes, equal);
  }
  bool operator==(const PairInLoopsKey& o) const { return fields() == o.fields(); }
};

/// Whether a nest keeps the order of pairs of instances (Legality::nest_keeps).
struct NestKey {
  const isl_set* domain = nullptr;  // of the present loops and work-items that the two share
  bool one_statement = false, commutes = false, combines = false;
  bool first_was = false, first_is = false;  // whether the first one runs first, reference and now
  std::size_t loops_was = 0, loops_is = 0;   // of the shared inames; the rest are work-items
  std::vector<ExprKey> values;               // the shared reference inames, in present ones
  std::vector<char> equal;                   // by shared reference iname: whether the two agree
  std::vector<Runs> runs;                    // by shared present iname
  std::vector<std::string> computed;         // temporaries that bound the domain

  auto fields() const {
    return std::tie(domain, one_statement, commutes, combines, first_was, first_is, loops_was,
                    loops_is, values, equal, runs, computed);
  }
  bool operator==(const NestKey& o) const { return fields() == o.fields(); }
};

/// Whether a pair of accesses keeps its order (Legality::prove). Inames are numbers, so that a
/// proof about a loop also holds for a loop of another name with the same bounds.
struct ProofKey {
  /// A statement of the pair, of the reference or at present.
  struct Statement {
    const isl_set* domain = nullptr;  // null where its shape is enough
    std::size_t shape = 0;
    std::size_t loops = 0;  // among the dimensions; the rest are work-items
    std::vector<int> dims;
    std::vector<ExprKey> predicates;
    std::vector<std::string> computed;  // temporaries that bound the domain

    auto fields() const { return std::tie(domain, shape, loops, dims, predicates, computed); }
    bool operator==(const Statement& o) const { return fields() == o.fields(); }
  };
  struct Place {
    std::string variable;  // empty where its name does not matter
    std::vector<ExprKey> index;
    std::optional<ExprKey> in_memory;  // where one of the two subscripts is flat
    std::optional<ExprKey> when;       // where it is in an arm of a conditional expression

    auto fields() const { return std::tie(variable, index, in_memory, when); }
    bool operator==(const Place& o) const { return fields() == o.fields(); }
  };

  bool one_statement = false, commutes = false, combines = false;
  bool first_was = false, first_is = false;
  std::size_t common_was = 0, common_is = 0;                        // shared loops
  std::array<std::optional<std::pair<int, std::size_t>>, 2> parts;  // core/order/legality.h
  std::vector<std::string> names;                                   // where they matter
  std::vector<Place> places;                                        // none: a dependency
  std::vector<std::string> read;                                    // in the subscripts
  std::array<Statement, 4> statements;                              // both as they were, and now
  std::array<std::vector<ExprKey>, 2> origins;                      // of the dimensions
  std::vector<Runs> runs;                                           // by loop of the first one
  /// Trusted work-items, each with the loops inside of it.
  std::array<std::vector<std::vector<int>>, 2> trusted;
  /// By scalar in its bounds and subscripts, before and now: the loops of the writers.
  std::vector<std::optional<std::vector<int>>> computed_in;
  std::vector<int> equal;  // agree in both instances
  ClaimsKey claims;

  auto fields() const {
    return std::tie(one_statement, commutes, combines, first_was, first_is, common_was, common_is,
                    parts, names, places, read, statements, origins, runs, trusted, computed_in,
                    equal, claims);
  }
  bool operator==(const ProofKey& o) const { return fields() == o.fields(); }
};

/// Whether statements and their accesses are valid, part by part (core/order/question.h). Inames
/// are `#0`, `#1` and so on where they are dimensions of the statements.
struct QuestionKey {
  enum class About : char { Defined, Others, Two, Written, Read };
  struct Statement {
    std::size_t shape = 0, loops = 0;
    std::vector<std::string> dims;
    std::vector<Runs> runs;  // by dimension
    /// Trusted inames, and loops inside of them.
    std::vector<std::pair<std::string, std::string>> inside = {};

    auto fields() const { return std::tie(shape, loops, dims, runs, inside); }
    bool operator==(const Statement& o) const { return fields() == o.fields(); }
  };
  struct Pair {
    bool one_statement = false, first = false;
    std::size_t common_loops = 0;

    auto fields() const { return std::tie(one_statement, first, common_loops); }
    bool operator==(const Pair& o) const { return fields() == o.fields(); }
  };
  struct Place {
    std::string variable;  // empty where its name does not matter
    std::string field;
    std::vector<ExprKey> index;
    std::vector<std::string> read;     // in the subscripts
    std::optional<ExprKey> in_memory;  // where one of two subscripts is flat
    std::optional<ExprKey> when;       // where it is in an arm of a conditional expression
    ClaimsKey claims;

    auto fields() const { return std::tie(variable, field, index, read, in_memory, when, claims); }
    bool operator==(const Place& o) const { return fields() == o.fields(); }
  };
  struct Relation {
    int in = 0;  // dimensions
    std::size_t shape = 0;

    auto fields() const { return std::tie(in, shape); }
    bool operator==(const Relation& o) const { return fields() == o.fields(); }
  };
  using Names = std::vector<std::string>;

  About about{};
  std::vector<std::variant<Statement, Pair, Place, Relation, Names, bool>> parts;

  auto fields() const { return std::tie(about, parts); }
  bool operator==(const QuestionKey& o) const { return fields() == o.fields(); }
};

/// Whether a read of a temporary finds what was written in the same iteration of some loops
/// (core/order/privacy.cpp).
struct CoverKey {
  /// When instances of a statement run, and whether what decides that holds at another one.
  struct Instances {
    const isl_set* domain = nullptr;
    std::vector<ExprKey> predicates;
    std::vector<char> affine;                         // by predicate
    std::vector<std::pair<std::string, bool>> reads;  // and whether nothing writes it in between

    auto fields() const { return std::tie(domain, predicates, affine, reads); }
    bool operator==(const Instances& o) const { return fields() == o.fields(); }
  };
  struct Access {
    Instances instances;
    std::vector<ExprKey> index;
    std::vector<std::string> read;  // in the subscripts
    std::string field;
    std::optional<ExprKey> in_memory;  // where some subscript is flat
    bool same_element = false;         // as the read
    std::size_t common = 0;            // loops shared with the read
    bool first = false;                // runs before it

    auto fields() const {
      return std::tie(instances, index, read, field, in_memory, same_element, common, first);
    }
    bool operator==(const Access& o) const { return fields() == o.fields(); }
  };

  std::vector<std::string> loops, items;
  Access read;
  std::optional<ExprKey> chosen;  // the right side that reads, where it chooses
  std::vector<Access> writes;
  std::optional<std::vector<ExprKey>> shape;
  std::vector<std::string> parts;  // fields that have to be written

  auto fields() const { return std::tie(loops, items, read, chosen, writes, shape, parts); }
  bool operator==(const CoverKey& o) const { return fields() == o.fields(); }
};

}  // namespace moonloop
