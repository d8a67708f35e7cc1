#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// What a plan consists of: nodes that are each one of a few things.
namespace moonloop {

/// Where all work-items of a group wait for one another.
struct Barrier {
  bool local = false, global = false;  // the memories in which they meet
  std::string why;                     // the accesses that need it, where the plan gives reasons
};

/// A loop over the children.
struct PlanLoop {
  std::string iname;
  std::optional<int> matrix = std::nullopt;        // that one of `Plan::matrix_steps`
  std::optional<int> common_trips = std::nullopt;  // that one of `Plan::common_trips`
};
/// The children run as this kernel of the device: one of `Plan::launches`.
struct PlanKernel {
  int launch;
};
/// Consecutive instructions of the same loops.
struct PlanStatements {
  std::vector<int> insns;
};
/// On a device: work-items put together what they accumulated, by one of `Plan::reductions`.
struct PlanReduction {
  int reduction;
};

/// A node of the plan: what it is, and for a loop or a kernel its children.
struct PlanNode {
  std::variant<PlanStatements, PlanLoop, PlanKernel, PlanReduction, Barrier> what;
  std::vector<PlanNode> children = {};   // in order of execution
  std::vector<std::string> locals = {};  // temporaries that live for one run of the children
  int id = 0;                            // in pre-order, unique, once number_nodes has run

  static PlanNode of(std::vector<int> insns) { return {PlanStatements{std::move(insns)}}; }
  static PlanNode over(std::string iname, std::vector<PlanNode> body = {}) {
    return {PlanLoop{std::move(iname)}, std::move(body)};
  }

  const PlanLoop* loop() const { return std::get_if<PlanLoop>(&what); }
  PlanLoop* loop() { return std::get_if<PlanLoop>(&what); }
  const PlanKernel* kernel() const { return std::get_if<PlanKernel>(&what); }
  const PlanReduction* reduction() const { return std::get_if<PlanReduction>(&what); }
  const Barrier* barrier() const { return std::get_if<Barrier>(&what); }
  Barrier* barrier() { return std::get_if<Barrier>(&what); }
  bool is_loop() const { return loop() != nullptr; }
  bool is_statements() const { return std::holds_alternative<PlanStatements>(what); }
  bool is_leaf() const { return !loop() && !kernel(); }

  /// Of a loop; of others an empty name, which is nothing's.
  const std::string& iname() const;
  /// The instructions of a node of statements; none of others.
  const std::vector<int>& insns() const;
  /// To change them, of a node of statements.
  std::vector<int>& statements() { return std::get<PlanStatements>(what).insns; }
  std::optional<int> common_trips() const { return loop() ? loop()->common_trips : std::nullopt; }
};

}  // namespace moonloop
