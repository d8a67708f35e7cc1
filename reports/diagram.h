#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/order/reference.h"

/// The order relation and the loop tree of a kernel as data, and in the forms that other programs
/// read: the output of `moonloop show --format`. Statements are those of the kernel with its
/// reductions realized, in the order in which the tree runs them. Near-linear in statements,
/// dependences and the resulting text, besides the cost of dependences() and nest().
namespace moonloop {

enum class DiagramFormat { Dot, Json, Svg };

std::string draw_dependences(const Kernel& k, DiagramFormat format);
std::string draw_tree(const Kernel& k, DiagramFormat format);

struct DiagramStatement {
  std::string id;
  std::vector<std::string> inames;  // loops, outer to inner, then work-items
  std::string text, line;           // without options; as kernel text prints it
};

struct DependenceGraph {
  /// The distance of the two instances along a loop that they share, over all parameters.
  struct Distance {
    std::string iname;
    std::optional<std::int64_t> least, most;  // absent: no bound
  };
  struct Edge {
    std::size_t from = 0, to = 0;  // indices into `statements`
    DepKind kind = DepKind::Flow;
    std::string variable, relation;
    bool exact = true;
    std::vector<Distance> distance;
    /// `flow a (0, 1..)`.
    std::string label() const;
  };
  std::string kernel;
  std::vector<DiagramStatement> statements;
  std::vector<Edge> edges;
};
DependenceGraph dependence_graph(const Kernel& k);
std::string to_dot(const DependenceGraph& g);
std::string to_json(const DependenceGraph& g);
std::string to_svg(const DependenceGraph& g);

struct LoopDiagram {
  struct Loop {
    std::string iname, tag;
    std::string bounds;  // of the iname within the loops around it: `0 <= j <= i`
    /// `for j [g.0]  0 <= j <= i`.
    std::string label() const;
  };
  struct Node {
    std::optional<Loop> loop;   // absent: a statement
    std::vector<Node> body;     // of a loop, in order of execution
    std::size_t statement = 0;  // index into `statements`
    std::vector<Loop> items;    // of a statement: inames that number work-items or lanes
  };
  std::string kernel;
  std::vector<DiagramStatement> statements;
  std::vector<Node> roots;
};
LoopDiagram loop_diagram(const Kernel& k);
std::string to_dot(const LoopDiagram& d);
std::string to_json(const LoopDiagram& d);
std::string to_svg(const LoopDiagram& d);

}  // namespace moonloop
