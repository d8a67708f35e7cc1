#include "reports/view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codegen/codegen.h"
#include "core/model/domain.h"
#include "core/model/print.h"
#include "core/order/reference.h"
#include "core/order/tree.h"
#include "reports/page.h"
#include "reports/report.h"
#include "reports/statement_counts.h"
#include "reports/view_code.h"
#include "reports/view_template.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

using Json = nlohmann::json;

/// The result of `f`, or the reason why there is none.
template <class F>
Json told(F f) {
  try {
    return f();
  } catch (const Error& e) { return Json{{"error", e.what()}}; }
}

Json tree_of(const Kernel& k, const std::vector<TreeNode>& nodes) {
  Json out = Json::array();
  for (const TreeNode& n : nodes) {
    if (!n.is_loop()) {
      out.push_back({{"id", k.instructions[static_cast<std::size_t>(n.insn)]->id}});
      continue;
    }
    const InameTag* tag = k.tag(n.iname);
    out.push_back(
        {{"iname", n.iname}, {"tag", tag ? tag->text : ""}, {"children", tree_of(k, n.children)}});
  }
  return out;
}

/// Lines of generated code, each with the instruction that it is part of, or none.
Json marked_lines(const std::string& marked) {
  Json out = Json::array();
  std::string id;
  for (std::size_t from = 0; from < marked.size();) {
    const std::size_t end = std::min(marked.find('\n', from), marked.size());
    const std::string line = marked.substr(from, end - from);
    from = end + 1;
    if (!line.empty() && line[0] == kStatementBegins)
      id = line.substr(1);
    else if (!line.empty() && line[0] == kStatementEnds)
      id.clear();
    else
      out.push_back({line, id});
  }
  return out;
}

// ---- The iteration space.

constexpr std::size_t kMostInstances = 1100, kMostArrows = 300;

/// The points of a set without parameters, or nothing where there are too many.
using Points = std::vector<std::vector<std::int64_t>>;
std::optional<Points> points_of(const Set& s, std::size_t most) {
  if (!yes(isl_set_is_bounded(s.get()))) return std::nullopt;
  struct Found {
    Points points;
    std::size_t most;
  } found{{}, most};
  const auto visit = [](isl_point* p, void* user) {
    auto& f = *static_cast<Found*>(user);
    const Point point(p);
    if (f.points.size() > f.most) return isl_stat_error;
    const Space space(isl_point_get_space(point.get()));
    std::vector<std::int64_t> values;
    for (int d = 0; d < count(isl_space_dim(space.get(), isl_dim_set)); ++d)
      values.push_back(to_int(Val(isl_point_get_coordinate_val(point.get(), isl_dim_set, d))));
    f.points.push_back(std::move(values));
    return isl_stat_ok;
  };
  const isl_stat done = isl_set_foreach_point(s.get(), visit, &found);
  if (found.points.size() > most) return std::nullopt;
  check(done);
  return found.points;
}

/// A map as the set of its pairs: inputs, then outputs.
Set pairs_of(const Map& m) {
  Map flat = m;
  const int in = count(isl_map_dim(flat.get(), isl_dim_in)),
            out = count(isl_map_dim(flat.get(), isl_dim_out));
  flat = isl_map_reset_tuple_id(flat.take(), isl_dim_in);
  flat = isl_map_reset_tuple_id(flat.take(), isl_dim_out);
  flat = isl_map_move_dims(flat.take(), isl_dim_in, static_cast<unsigned>(in), isl_dim_out, 0,
                           static_cast<unsigned>(out));
  return isl_map_domain(flat.take());
}

/// A set at these values of its parameters; nothing where one has none.
std::optional<Set> at_sizes(Set s, const Integers& sizes) {
  for (const std::string& p : param_names(s)) {
    const auto it = sizes.find(p);
    if (it == sizes.end()) return std::nullopt;
    const int at = isl_set_find_dim_by_name(s.get(), isl_dim_param, p.c_str());
    s = isl_set_fix_val(s.take(), isl_dim_param, static_cast<unsigned>(at),
                        isl_val_int_from_si(isl(), it->second));
  }
  return isl_set_project_out(s.copy(), isl_dim_param, 0,
                             static_cast<unsigned>(count(isl_set_dim(s.get(), isl_dim_param))));
}

/// By statement: the loops that it had when it was first seen, as expressions of those that it has.
using Axes = std::map<std::string, std::map<std::string, Expr>>;

/// The axes of all statements of a kernel. `base`: in terms of the loops of its reference, or,
/// where it has just become its own, of those that it had before.
Axes axes_of(const Kernel& k, const Axes& base) {
  Axes out;
  for (const InsnPtr& insn : k.instructions) {
    const auto known = base.find(insn->id);
    std::map<std::string, Expr>& axes = out[insn->id];
    const auto stands = [&](const Expr& e) {
      std::set<std::string> vars;
      collect_vars(e, vars);
      return std::all_of(vars.begin(), vars.end(),
                         [&](const std::string& v) { return insn->inames.count(v) != 0; });
    };
    if (known != base.end())
      for (const auto& [name, e] : known->second)
        if (const Expr now = substitute(e, insn->origin); stands(now)) axes.emplace(name, now);
    if (known != base.end() && axes.size() == known->second.size()) continue;
    axes.clear();  // a new statement
    for (const std::string& i : insn->inames) axes.emplace(i, var(i));
  }
  return out;
}

/// The statements of one step in the loops that they had at first.
class Drawing {
 public:
  Drawing(const DependenceList& all, const Axes& axes, const Integers& sizes)
      : all_(all), axes_(axes), sizes_(sizes) {
    for (std::size_t i = 0; i < all.kernel.instructions.size(); ++i) add(i);
    order();
  }

  Json json() const {
    Json out = Json::array();
    for (const Statement& s : statements_) {
      Json points = Json::array();
      for (const Instance& p : s.instances) points.push_back({p.place, p.rank});
      const Arrows drawn = arrows(s);
      out.push_back({{"id", s.id},
                     {"axes", s.axes},
                     {"points", points},
                     {"tiles", tiles(s)},
                     {"arrows", drawn.pairs},
                     {"all_arrows", drawn.all}});
    }
    return out;
  }

  /// Statements that are not drawn, each with the reason.
  Json left_out() const {
    Json out = Json::array();
    for (const auto& [id, why] : left_out_) out.push_back(fmt::format("`{}` {}", id, why));
    return out;
  }

 private:
  struct Instance {
    std::vector<std::int64_t> here, place, key;
    std::size_t rank = 0;
  };
  struct Statement {
    std::size_t insn = 0;
    std::string id;
    std::vector<std::string> inames, axes;
    std::vector<Instance> instances;
  };

  static std::optional<std::int64_t> value(const Expr& e, const std::vector<std::string>& names,
                                           const std::vector<std::int64_t>& at) {
    std::map<std::string, Expr> values;
    for (std::size_t i = 0; i < names.size(); ++i) values.emplace(names[i], lit(at[i]));
    const auto affine = to_affine(substitute(e, values), {});
    if (!affine) return std::nullopt;
    const auto constant = as_int(from_affine(*affine));
    return constant;
  }

  /// By instance the number of its tile: instances that do not differ in any loop that steps over
  /// values of an axis, as `i_outer` in `i = 32*i_outer + i_inner`. Empty where there is no such
  /// loop.
  std::vector<std::size_t> tiles(const Statement& s) const {
    std::vector<std::size_t> steps, out;
    if (s.instances.empty()) return out;
    const auto& axes = axes_.at(s.id);
    for (std::size_t i = 0; i < s.inames.size(); ++i) {
      std::vector<std::int64_t> next = s.instances[0].here;
      ++next[i];
      if (std::any_of(s.axes.begin(), s.axes.end(), [&](const std::string& a) {
            const auto from = value(axes.at(a), s.inames, s.instances[0].here);
            const auto to = value(axes.at(a), s.inames, next);
            return from && to && std::abs(*to - *from) > 1;
          }))
        steps.push_back(i);
    }
    if (steps.empty()) return out;
    std::map<std::vector<std::int64_t>, std::size_t> numbers;
    for (const Instance& p : s.instances) {
      std::vector<std::int64_t> tile;
      for (const std::size_t i : steps) tile.push_back(p.here[i]);
      out.push_back(numbers.emplace(std::move(tile), numbers.size()).first->second);
    }
    return out;
  }

  void add(std::size_t n) {
    const Instruction& insn = *all_.kernel.instructions[n];
    Statement s;
    s.insn = n;
    s.id = insn.id;
    s.inames = {insn.inames.begin(), insn.inames.end()};
    const auto& axes = axes_.at(s.id);
    for (const auto& [name, e] : axes) s.axes.push_back(name);
    const std::vector<std::string>& outer = all_.kernel.loop_order;
    std::stable_sort(s.axes.begin(), s.axes.end(), [&](const auto& a, const auto& b) {
      return std::find(outer.begin(), outer.end(), a) < std::find(outer.begin(), outer.end(), b);
    });
    const auto leave_out = [&](std::string why) { left_out_.push_back({s.id, std::move(why)}); };
    if (s.axes.empty()) return leave_out("is in no loop");
    if (s.axes.size() > 3) return leave_out(fmt::format("is in {} loops", s.axes.size()));
    const auto set = at_sizes(to_dims(domain_of(all_.kernel, s.inames), s.inames), sizes_);
    const auto points = set ? points_of(*set, kMostInstances) : std::nullopt;
    if (!set) return leave_out("has bounds that depend on data");
    if (!points) return leave_out(fmt::format("has more than {} instances", kMostInstances));
    const TreePath& path = all_.tree.paths[n];
    const std::vector<std::string>& loops = path.loops();
    for (const auto& here : *points) {
      Instance p{here, {}, {}, 0};
      for (const std::string& a : s.axes) {
        const auto v = value(axes.at(a), s.inames, here);
        if (!v) return leave_out("has loops whose values are not those of the first kernel");
        p.place.push_back(*v);
      }
      const auto at = [&](const std::string& iname) {
        const auto it = std::find(s.inames.begin(), s.inames.end(), iname);
        return here[static_cast<std::size_t>(it - s.inames.begin())];
      };
      for (std::size_t l = 0; l < loops.size(); ++l) {
        p.key.push_back(path.index(l));
        p.key.push_back(at(loops[l]));
      }
      p.key.push_back(path.last);
      for (const std::string& i : s.inames)  // work-items, which no loop of the tree numbers
        if (std::find(loops.begin(), loops.end(), i) == loops.end()) p.key.push_back(at(i));
      s.instances.push_back(std::move(p));
    }
    statements_.push_back(std::move(s));
  }

  void order() {
    std::vector<Instance*> all;
    for (Statement& s : statements_)
      for (Instance& p : s.instances) all.push_back(&p);
    std::stable_sort(all.begin(), all.end(),
                     [](const Instance* a, const Instance* b) { return a->key < b->key; });
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->rank = i;
  }

  struct Arrows {
    Json pairs = Json::array();
    bool all = true;  // false: there are too many
  };
  /// Dependences of a statement on itself, as pairs of its instances.
  Arrows arrows(const Statement& s) const {
    Arrows out;
    for (const Dependence& d : all_.all) {
      if (static_cast<std::size_t>(d.from) != s.insn || d.from != d.to) continue;
      const auto set = at_sizes(pairs_of(d.relation), sizes_);
      const auto pairs = set ? points_of(*set, 20 * kMostArrows) : std::nullopt;
      if (!pairs) {
        out.all = false;
        continue;
      }
      const std::vector<std::string> order = dims(d.relation);
      for (const auto& p : *pairs) {
        const auto from = index_of(s, order, p, 0), to = index_of(s, order, p, order.size());
        if (!from || !to || *from == *to) continue;
        if (out.pairs.size() == kMostArrows) {
          out.all = false;
          return out;
        }
        out.pairs.push_back({*from, *to});
      }
    }
    return out;
  }
  static std::vector<std::string> dims(const Map& m) {
    std::vector<std::string> out;
    for (int d = 0; d < count(isl_map_dim(m.get(), isl_dim_in)); ++d)
      out.emplace_back(isl_map_get_dim_name(m.get(), isl_dim_in, static_cast<unsigned>(d)));
    return out;
  }
  static std::optional<std::size_t> index_of(const Statement& s,
                                             const std::vector<std::string>& order,
                                             const std::vector<std::int64_t>& pair,
                                             std::size_t from) {
    std::vector<std::int64_t> here(s.inames.size());
    for (std::size_t d = 0; d < order.size(); ++d) {
      const auto it = std::find(s.inames.begin(), s.inames.end(), order[d]);
      if (it != s.inames.end())
        here[static_cast<std::size_t>(it - s.inames.begin())] = pair[from + d];
    }
    for (std::size_t i = 0; i < s.instances.size(); ++i)
      if (s.instances[i].here == here) return i;
    return std::nullopt;
  }

  const DependenceList& all_;
  const Axes& axes_;
  const Integers& sizes_;
  std::vector<Statement> statements_;
  std::vector<std::pair<std::string, std::string>> left_out_;  // statement, and why
};

// ---- A step.

Json dependences_of(const DependenceList& list) {
  Json out = Json::array();
  for (const Dependence& d : list.all) {
    const auto id = [&](int i) {
      return list.kernel.instructions[static_cast<std::size_t>(i)]->id;
    };
    out.push_back({{"kind", to_string(d.kind)},
                   {"variable", d.variable},
                   {"from", id(d.from)},
                   {"to", id(d.to)},
                   {"relation", str(d.relation)},
                   {"exact", d.exact}});
  }
  return out;
}

/// By statement its number, and whether that is exact.
Json heat_of(const std::vector<StatementCount>& counts) {
  Json out = Json::object();
  for (const StatementCount& c : counts) out[c.statement] = {c.number, c.exact};
  return out;
}

/// The states of a kernel, one after the other.
class States {
 public:
  explicit States(const Integers& sizes) : sizes_(sizes) {}

  Json next(const Kernel& k, const std::string& title);

 private:
  const Integers& sizes_;
  Axes base_, last_;
};

Json States::next(const Kernel& k, const std::string& title) {
  const Integers& sizes = sizes_;
  Json out{{"title", title}, {"text", print_kernel(k)}};
  out["counts"] = told([&] { return Json(report_counts(k, {std::nullopt, sizes})); });
  out["heat"]["operations"] = told([&] { return heat_of(operations_by_statement(k, sizes)); });
  out["heat"]["bytes"] = told([&] { return heat_of(bytes_by_statement(k, sizes)); });
  out["parts"] = told([&] { return Json(statements_of_reductions(k)); });
  out["tree"] = told([&] {
    const Nested nested = nest(k);
    return tree_of(nested.kernel, nested.tree.roots);
  });
  std::optional<DependenceList> list;
  out["deps"] = told([&] {
    list = dependences(k);
    return dependences_of(*list);
  });
  if (list) {
    last_ = axes_of(list->kernel, k.reference ? base_ : last_);
    if (!k.reference) base_ = last_;  // later steps refer to its loops
    out["space"] = told([&] {
      const Drawing drawing(*list, last_, sizes);
      out["left_out"] = drawing.left_out();
      return drawing.json();
    });
  } else {
    out["space"] = Json::array();
  }
  for (const Target t : all_targets())
    out["code"][to_string(t)] =
        told([&] { return marked_lines(generate(k, t, {.mark_statements = true}).source); });
  return out;
}

std::string title_of(const Step& s) {
  std::string out = s.name + "(";
  for (const Value& v : s.positional) out += (out.back() == '(' ? "" : ", ") + to_lua(v);
  if (!s.options.empty()) out += (out.back() == '(' ? "" : ", ") + to_lua(Value{s.options});
  return out + ")";
}

}  // namespace

std::string view_data(const Kernel& original, const Kernel& k, const Integers& sizes,
                      const std::function<void(const std::string&)>& progress) {
  const auto tell = [&](std::size_t step, const std::string& what) {
    if (progress) progress(fmt::format("state {} of {}: {}", step, k.trace.size() + 1, what));
  };
  Json out{{"name", k.name}, {"states", Json::array()}, {"sizes", sizes}};
  for (const Claim& c : k.claims) out["claims"].push_back(c.step);
  Kernel now = original;
  States states(sizes);
  tell(1, "as written");
  out["states"].push_back(states.next(now, "as written"));
  for (const Step& s : k.trace) {
    tell(out["states"].size() + 1, title_of(s));
    const Op* op = find_op(s.name);
    ensure(op != nullptr, "a step that is not a transform");
    now = run_op(*op, now, s.positional, s.options, s.at);
    out["states"].push_back(states.next(now, title_of(s)));
  }
  CodeTable codes;
  for (Json& state : out["states"])
    for (auto& [target, code] : state["code"].items())
      if (code.is_array()) code = codes.add(code);
  out["forms"] = codes.forms();
  out["lines"] = codes.lines();
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string view_page(const Kernel& original, const Kernel& k, const Integers& sizes,
                      const std::function<void(const std::string&)>& progress) {
  return with_data(view_template(), view_data(original, k, sizes, progress));
}

}  // namespace moonloop
