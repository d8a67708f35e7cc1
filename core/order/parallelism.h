#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/order/counterexample.h"
#include "core/order/reference.h"

/// What the order relation says of the loops of a kernel: which ones may run in parallel and what
/// stands in the way of the others, how far apart instances that depend on each other are, and
/// which loops may change places.
namespace moonloop {

enum class LoopStatus {
  Parallel,   // no two iterations depend on each other, those of the loops around it being equal
  Reduction,  // only updates of reductions do, or accumulations that recognize_reduction knows
  Carried,    // some do
  Unproved,   // some may: nothing says that they do not
};
const char* to_string(LoopStatus status);  // parallel, reduction, carried, unproved

/// How far apart two instances that depend on each other are along a loop that they share: the
/// value of its iname at the later one, less that at the earlier one, over all parameters.
struct LoopDistance {
  std::optional<std::int64_t> least, most;  // nothing: no bound
  /// `2` where it is constant; else `<` from 1 on, `<=` from 0 on, `>` and `>=` likewise below,
  /// `*`.
  std::string str() const;
  bool operator==(const LoopDistance&) const = default;
};

/// Instances of two statements that must not change places, in different iterations of a loop.
struct CarriedDependence {
  std::optional<DepKind> kind;  // nothing: `depends_on` says so
  std::string variable;
  std::string from, to;                // ids of statements
  std::vector<std::string> loops;      // that they share, outer to inner
  std::vector<LoopDistance> distance;  // by loop; 0 outside of the loop that carries it
  std::size_t level = 0;               // the place of that loop
  bool exact = true;                   // false: over-approximated
  /// `(1, -1)`.
  std::string vector() const;
};

/// A statement that accumulates over a loop.
struct LoopReduction {
  std::string statement, op;  // such as `sum`
  std::string variable;       // that an accumulation written out has; empty: a declared reduction
  bool declared() const { return variable.empty(); }
};

struct LoopParallelism {
  std::string iname, tag;
  std::vector<std::string> around;      // loops, outer to inner
  std::vector<std::string> statements;  // in it, in order of execution
  LoopStatus status = LoopStatus::Parallel;
  /// Whether `tag_inames` proves the tag `par`. Threads share declared reductions; accumulations
  /// have to be recognized first.
  bool par = false;
  std::vector<LoopReduction> reductions;
  // What refuses the tag: a dependence that is certain, else the first one that may be.
  std::optional<Diagnostic> why;
  std::optional<DepKind> kind;  // nothing: it is not a pair of accesses
  std::string variable;
  std::shared_ptr<const Counterexample> instances;  // null: it is not about two of them
};

/// Loops directly within each other whose iterations may run in every order of these loops, as a
/// tile does: no dependence that the loops around them leave open is negative along one of them.
struct PermutableBand {
  std::vector<std::string> loops;  // outer to inner, at least two
  bool perfect = true;             // all statements of the first loop are in the last one
};

struct Parallelism {
  std::string kernel;
  std::vector<LoopParallelism> loops;          // of the tree, each before those in it
  std::vector<CarriedDependence> dependences;  // without those that follow by transitivity
  std::vector<PermutableBand> bands;           // those that are in no larger one
};

/// What is asked of the loops of a kernel.
struct AskedOfLoops {
  /// About this loop and those in it only, what they carry, and bands of them; empty: of all.
  std::string within = {};
  /// Only which loops `par` may be on, and the first reason found where it may not; without
  /// reductions that are declared, dependences and bands. It ends sooner where much is in the way.
  bool brief = false;
  /// With `brief`: of a reason, only its code and the variable; without two instances.
  bool reasons = true;
};

/// Of `k` as it is: in the order of its tree, with its tags and its claims, but for those that take
/// the order of a loop on trust, which is asked anew. Inames in teams (`l.N`, `ilp`) are not loops.
/// Throws as check_legal does where `k` is not legal, and fails `not-a-loop`. Cost: a proof of
/// order for each level of the tree and for each loop tagged `simd` or `g.N`; isl for each
/// different pair of accesses whose subscripts do not tell the iterations of their loops.
Parallelism parallelism(const Kernel& k, const AskedOfLoops& asked = {});

}  // namespace moonloop
