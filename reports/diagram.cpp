#include "reports/diagram.h"

#include <algorithm>
#include <unordered_map>

#include "core/model/domain.h"
#include "core/model/print.h"
#include "core/order/order.h"

namespace moonloop {
namespace {

/// The statements of a nested kernel in the order of their execution.
class Statements {
 public:
  Statements(const Kernel& k, const LoopTree& tree) : place(k.instructions.size()) {
    add(k, tree, tree.roots);
  }
  std::vector<DiagramStatement> all;
  std::vector<std::size_t> place;  // by index of the instruction

 private:
  void add(const Kernel& k, const LoopTree& tree, const std::vector<TreeNode>& nodes) {
    for (const TreeNode& n : nodes) {
      if (n.is_loop()) {
        add(k, tree, n.children);
        continue;
      }
      const auto i = static_cast<std::size_t>(n.insn);
      const Instruction& insn = *k.instructions[i];
      place[i] = all.size();
      const std::vector<std::string>& loops = tree.paths[i].loops();
      std::vector<std::string> inames = loops;
      for (const std::string& iname : insn.inames)
        if (std::find(loops.begin(), loops.end(), iname) == loops.end()) inames.push_back(iname);
      all.push_back(
          {insn.id, std::move(inames), print_statement(insn), print_instruction(k, insn)});
    }
  }
};

/// The value, unless the bound is infinite.
std::optional<std::int64_t> finite(const Val& v) {
  if (!yes(isl_val_is_int(v.get()))) return {};
  return to_int(v);
}

/// The first dimensions on both sides of the relation are the `shared` loops.
std::vector<DependenceGraph::Distance> distances(const Map& relation,
                                                 const std::vector<std::string>& shared) {
  if (shared.empty()) return {};
  Map m = relation;
  for (const isl_dim_type side : {isl_dim_in, isl_dim_out}) {
    const int all = count(isl_map_dim(m.get(), side)), kept = static_cast<int>(shared.size());
    m = isl_map_project_out(m.take(), side, static_cast<unsigned>(kept),
                            static_cast<unsigned>(all - kept));
    m = isl_map_reset_tuple_id(m.take(), side);
  }
  const int parameters = count(isl_map_dim(m.get(), isl_dim_param));
  m = isl_map_project_out(m.take(), isl_dim_param, 0, static_cast<unsigned>(parameters));
  const Set apart = isl_map_deltas(m.take());
  std::vector<DependenceGraph::Distance> out;
  for (std::size_t d = 0; d < shared.size(); ++d)
    out.push_back({shared[d], finite(isl_set_dim_min_val(apart.copy(), static_cast<int>(d))),
                   finite(isl_set_dim_max_val(apart.copy(), static_cast<int>(d)))});
  return out;
}

std::vector<std::string> shared_loops(const TreePath& a, const TreePath& b) {
  const std::vector<std::string>&x = a.loops(), &y = b.loops();
  return {x.begin(), std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first};
}

/// Describes the bounds of the inames of a kernel.
class Bounds {
 public:
  explicit Bounds(const Kernel& k) : k_(k) {
    for (const Domain& d : k.domains)
      for (const std::string& iname : d.inames()) homes_.emplace(iname, &d);
  }

  LoopDiagram::Loop loop(const std::string& iname, const std::vector<std::string>& around) const {
    const InameTag* tag = k_.tag(iname);
    return {iname, tag ? tag->text : "", text(iname, around)};
  }

 private:
  std::string text(const std::string& iname, const std::vector<std::string>& around) const {
    const auto home = homes_.find(iname);
    if (home == homes_.end()) return {};
    const Set& set = home->second->set;
    std::vector<std::string> names;
    for (const std::string& name : dim_names(set))
      if (std::find(around.begin(), around.end(), name) != around.end()) names.push_back(name);
    Set outer = to_dims(set, names);
    names.push_back(iname);
    const Set left = isl_set_gist(to_dims(set, names).take(), to_dims(outer, names).take());
    const std::string all = str(left);
    const std::size_t colon = all.find(" : "), close = all.rfind(" }");
    if (colon == std::string::npos) return {};
    if (all.find(';') != std::string::npos) return all.substr(all.find('{'));  // several parts
    return all.substr(colon + 3, close - colon - 3);
  }

  const Kernel& k_;
  std::unordered_map<std::string, const Domain*> homes_;
};

std::vector<LoopDiagram::Node> nodes_of(const Nested& nested, const Statements& statements,
                                        const Bounds& bounds, const std::vector<TreeNode>& nodes,
                                        std::vector<std::string>& around) {
  std::vector<LoopDiagram::Node> out;
  for (const TreeNode& n : nodes) {
    LoopDiagram::Node& node = out.emplace_back();
    if (n.is_loop()) {
      node.loop = bounds.loop(n.iname, around);
      around.push_back(n.iname);
      node.body = nodes_of(nested, statements, bounds, n.children, around);
      around.pop_back();
      continue;
    }
    node.statement = statements.place[static_cast<std::size_t>(n.insn)];
    for (const std::string& iname : statements.all[node.statement].inames)
      if (in_team(nested.kernel.tag(iname))) node.items.push_back(bounds.loop(iname, around));
  }
  return out;
}

template <class Diagram>
std::string written(const Diagram& d, DiagramFormat format) {
  switch (format) {
    case DiagramFormat::Dot: return to_dot(d);
    case DiagramFormat::Json: return to_json(d);
    case DiagramFormat::Svg: return to_svg(d);
  }
  throw InternalError("unknown format of diagrams");
}

}  // namespace

DependenceGraph dependence_graph(const Kernel& k) {
  const DependenceList list = dependences(k);
  Statements statements(list.kernel, list.tree);
  DependenceGraph out{k.name, {}, {}};
  for (const Dependence& d : list.all) {
    const auto from = static_cast<std::size_t>(d.from), to = static_cast<std::size_t>(d.to);
    out.edges.push_back(
        {statements.place[from], statements.place[to], d.kind, d.variable, str(d.relation), d.exact,
         distances(d.relation, shared_loops(list.tree.paths[from], list.tree.paths[to]))});
  }
  out.statements = std::move(statements.all);
  return out;
}

LoopDiagram loop_diagram(const Kernel& k) {
  const Nested nested = nest(k);
  Statements statements(nested.kernel, nested.tree);
  std::vector<std::string> around;
  LoopDiagram out{k.name, {}, {}};
  out.roots = nodes_of(nested, statements, Bounds(nested.kernel), nested.tree.roots, around);
  out.statements = std::move(statements.all);
  return out;
}

std::string DependenceGraph::Edge::label() const {
  std::string out = fmt::format("{} {}", to_string(kind), variable);
  for (const Distance& d : distance) {
    const std::string least = d.least ? std::to_string(*d.least) : "",
                      most = d.most ? std::to_string(*d.most) : "";
    out += &d == &distance.front() ? " (" : ", ";
    out += !d.least && !d.most ? "*" : least == most ? least : least + ".." + most;
  }
  return out + (distance.empty() ? "" : ")") + (exact ? "" : " at most");
}

std::string LoopDiagram::Loop::label() const {
  return "for " + iname + (tag.empty() ? "" : " [" + tag + "]") +
         (bounds.empty() ? "" : "  " + bounds);
}

std::string draw_dependences(const Kernel& k, DiagramFormat format) {
  return written(dependence_graph(k), format);
}

std::string draw_tree(const Kernel& k, DiagramFormat format) {
  return written(loop_diagram(k), format);
}

}  // namespace moonloop
