#include "core/order/tree.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "core/base/graph.h"
#include "core/model/domain.h"
#include "core/model/textual_order.h"
#include "core/order/order.h"

namespace moonloop {

namespace {

// ---- Which instructions are in the same loops ---------------------------------------------------

/// Instructions with equal inames.
struct Nest {
  const std::set<std::string>* inames;
  std::size_t first;       // instruction
  int size = 0;            // how many there are
  std::vector<int> loops;  // in the order of their names
  std::shared_ptr<const LoopNest> around;
};

class Nests {
 public:
  explicit Nests(const Kernel& k) {
    of_.reserve(k.instructions.size());
    std::unordered_multimap<std::size_t, int> by_hash;
    for (std::size_t s = 0; s < k.instructions.size(); ++s) {
      const std::set<std::string>& inames = k.instructions[s]->inames;
      int n = of_.empty() || *all[std::size_t(of_.back())].inames != inames ? -1 : of_.back();
      if (n < 0) {
        std::size_t hash = inames.size();
        for (const std::string& i : inames) hash = 31 * hash + NameIndex::hash_of(i);
        const auto [from, to] = by_hash.equal_range(hash);
        const auto known = std::find_if(
            from, to, [&](const auto& e) { return *all[std::size_t(e.second)].inames == inames; });
        if (known != to) {
          n = known->second;
        } else {
          n = static_cast<int>(all.size());
          all.push_back({&inames, s, 0, {}, {}});
          by_hash.emplace(hash, n);
        }
      }
      of_.push_back(n);
      ++all[std::size_t(n)].size;
    }
  }
  /// Of an instruction.
  int number(std::size_t s) const { return of_[s]; }
  const Nest& of(std::size_t s) const { return all[std::size_t(of_[s])]; }
  std::size_t instructions() const { return of_.size(); }

  std::vector<Nest> all;  // by their first instructions

 private:
  std::vector<int> of_;
};

// ---- Which loops are outside which --------------------------------------------------------------

/// Orders all loops so that each instruction's loops, sorted by it, nest.
class LoopSorter {
 public:
  LoopSorter(const Kernel& k, Nests& nests) : k_(k), nests_(nests) {
    collect();
    shared_sets();
    priorities();
    data_dependent_bounds();
  }

  /// Sets the names of each nest: its loops, outer to inner, and its inames in teams.
  void sort() {
    std::map<std::string, int> preferred;
    for (std::size_t i = 0; i < k_.loop_order.size(); ++i)
      preferred.emplace(k_.loop_order[i], static_cast<int>(i));
    const int n = static_cast<int>(names_.size());
    std::vector<int> rank(n);
    for (int i = 0; i < n; ++i) {
      const auto it = preferred.find(names_[i]);
      rank[i] = it == preferred.end() ? static_cast<int>(k_.loop_order.size()) + i : it->second;
    }
    for (const auto& [iname, tag] : k_.iname_tags) {
      const auto it = tag.kind == TagKind::Group ? number_.find(iname) : number_.end();
      if (it == number_.end()) continue;
      rank[it->second] -= 1 << 24;  // outermost, axis order within
      rank[it->second] -= tag.axis << 20;
    }
    const std::vector<int> order = sort_topologically(inside_, rank);
    if (order.size() != names_.size()) refuse_cycle();
    std::vector<int> position(n);
    for (int i = 0; i < n; ++i) position[order[i]] = i;
    // Nests have different inames, and so different loops unless they have inames in teams.
    const bool teams = !in_teams_.empty();
    std::map<std::vector<std::string>, SharedNames> known;
    const auto shared = [&](std::vector<std::string> names) {
      if (names.empty()) return SharedNames();
      if (!teams) return SharedNames(std::move(names));
      const auto [it, fresh] = known.try_emplace(names);
      if (fresh) it->second = SharedNames(std::move(names));
      return it->second;
    };
    for (Nest& nest : nests_.all) {
      std::sort(nest.loops.begin(), nest.loops.end(),
                [&](int a, int b) { return position[a] < position[b]; });
      std::vector<std::string> loops, items;
      for (const int l : nest.loops) loops.push_back(names_[l]);
      for (const std::string& i : *nest.inames)
        if (in_teams_.contains(i)) items.push_back(i);
      LoopNest around;
      around.loops = around.dims = shared(std::move(loops));
      if (!items.empty()) {
        std::vector<std::string> dims = around.loops;
        dims.insert(dims.end(), items.begin(), items.end());
        around.dims = SharedNames(std::move(dims));
        around.items = shared(std::move(items));
      }
      nest.around = std::make_shared<const LoopNest>(std::move(around));
    }
  }

 private:
  void collect() {
    for (const auto& [iname, tag] : k_.iname_tags)
      if (in_team(&tag)) in_teams_.insert(iname);
    for (Nest& nest : nests_.all)
      for (const std::string& iname : *nest.inames) {
        if (in_teams_.contains(iname)) continue;
        const auto [it, fresh] = number_.try_emplace(iname, static_cast<int>(names_.size()));
        if (fresh) names_.push_back(iname), uses_.push_back(0), first_.push_back(nest.first);
        uses_[it->second] += nest.size;
        nest.loops.push_back(it->second);
      }
    inside_.resize(names_.size());
  }

  // Loops that meet in an instruction: the one with more instructions is outside.
  void shared_sets() {
    for (const Nest& nest : nests_.all)
      for (std::size_t i = 0; i < nest.loops.size(); ++i)
        for (std::size_t j = i + 1; j < nest.loops.size(); ++j)
          together_[std::minmax(nest.loops[i], nest.loops[j])] += nest.size;
    for (const auto& [pair, n] : together_) {
      const auto [a, b] = pair;
      if (n == uses_[a] && n == uses_[b]) continue;
      if (n == uses_[b])
        add(a, b, "subset");
      else if (n == uses_[a])
        add(b, a, "subset");
      else
        refuse_crossing(a, b);
    }
  }

  // Between loops that meet nowhere there is nothing to order, and nothing to keep others from
  // their preferred places.
  void priorities() {
    for (const auto& chain : k_.priorities)
      for (std::size_t i = 0; i < chain.size(); ++i)
        for (std::size_t j = i + 1; j < chain.size(); ++j) {
          const auto a = number_.find(chain[i]), b = number_.find(chain[j]);
          if (a != number_.end() && b != number_.end() &&
              together_.count(std::minmax(a->second, b->second)))
            add(a->second, b->second, "priority");
        }
  }

  // An iname whose bounds need a temporary is inside the loops of that temporary's writers.
  void data_dependent_bounds() {
    if (k_.temporaries.empty()) return;
    std::map<std::string, std::vector<const Instruction*>> writers;
    bool collected = false;
    for (const Domain& d : k_.domains)
      for (const std::string& p : d.params()) {
        if (!k_.find_temporary(p)) continue;
        if (!collected) {
          for (const InsnPtr& insn : k_.instructions)
            for (const std::string& w : writes(*insn)) writers[w].push_back(insn.get());
          collected = true;
        }
        for (const Instruction* w : writers[p])
          for (const std::string& outer : w->inames)
            for (const std::string& inner : d.inames()) {
              const auto a = number_.find(outer), b = number_.find(inner);
              if (a != number_.end() && b != number_.end() && a != b)
                add(a->second, b->second, "bounds");
            }
      }
  }

  void add(int outer, int inner, const char* why) {
    // Bounds that are computed in a loop are a reason that no other replaces.
    if (inside_[outer].insert(inner).second || std::string_view(why) == "bounds")
      why_[{outer, inner}] = why;
  }

  [[noreturn]] void refuse_crossing(int a, int b) {
    const Instruction *both = nullptr, *only_a = nullptr, *only_b = nullptr;
    for (const InsnPtr& insn : k_.instructions) {
      const bool has_a = insn->inames.count(names_[a]), has_b = insn->inames.count(names_[b]);
      if (has_a && has_b && !both) both = insn.get();
      if (has_a && !has_b && !only_a) only_a = insn.get();
      if (!has_a && has_b && !only_b) only_b = insn.get();
    }
    Diagnostic d;
    d.code = "cannot-nest";
    d.text = fmt::format(
        "loops `{0}` and `{1}` cannot be nested: `{2}` is in both, `{3}` only in `{0}`, `{4}` only "
        "in `{1}`",
        names_[a], names_[b], both->id, only_a->id, only_b->id);
    d.where = {both->at, {}};
    for (const Instruction* i : {only_a, only_b})  // instructions made by steps have no place
      if (i->at) d.notes.push_back({i->at, "`" + i->id + "` is here"});
    // Parts of reductions and instructions made by steps have no options.
    if (only_a->role == ReductionRole::None && only_a->at)
      d.hint = fmt::format("the option `dup={}` of `{}` gives it a loop of its own", names_[a],
                           only_a->id);
    throw Refused(d);
  }

  /// The step that takes those instructions out of the loop; empty where a part of a reduction is
  /// among them, which has no id of its own.
  template <class F>
  std::string loop_of_its_own(const std::string& iname, F selected) const {
    std::vector<std::string> ids;
    for (const InsnPtr& insn : k_.instructions) {
      if (!selected(*insn)) continue;
      if (insn->role != ReductionRole::None) return {};
      ids.push_back("id:" + insn->id);
    }
    return fmt::format("`duplicate_inames(\"{}\", \"{}\")` gives {} a loop of {} own", iname,
                       fmt::join(ids, " or "), ids.size() == 1 ? "it" : "them",
                       ids.size() == 1 ? "its" : "their");
  }

  [[noreturn]] void refuse_cycle() {
    const std::vector<int> cycle = find_cycle(inside_);
    std::string text;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const int a = cycle[i], b = cycle[(i + 1) % cycle.size()];
      const std::string why = why_.at({a, b});
      text += fmt::format("{}`{}` must be outside `{}` ({})", i ? ", " : "", names_[a], names_[b],
                          why == "priority" ? "prioritize_loops"
                          : why == "bounds" ? "its bounds are computed in that loop"
                                            : "it holds more instructions");
    }
    Diagnostic d;
    d.code = "cannot-nest";
    d.text = "these loops cannot be nested: " + text;
    d.where = {k_.instructions[first_[cycle[0]]]->at, {}};
    for (std::size_t i = 0; i < cycle.size() && d.hint.empty(); ++i) {
      const int a = cycle[i], b = cycle[(i + 1) % cycle.size()];
      if (why_.at({a, b}) != "subset") continue;
      d.hint = loop_of_its_own(names_[a], [&](const Instruction& insn) {
        return insn.inames.count(names_[a]) && insn.inames.count(names_[b]);
      });
      if (!d.hint.empty()) d.hint += ", which the order may then name";
    }
    throw Refused(d);
  }

  const Kernel& k_;
  Nests& nests_;
  std::vector<std::string> names_;
  std::set<std::string> in_teams_;
  std::map<std::pair<int, int>, int> together_;  // in how many instructions two loops meet
  std::map<std::string, int> number_;
  std::vector<int> uses_;
  std::vector<std::size_t> first_;  // the first instruction in the loop
  Edges inside_;                    // outer -> inner
  std::map<std::pair<int, int>, std::string> why_;
};

// ---- In which order the bodies run --------------------------------------------------------------

/// A loop (or the kernel itself) while its children are being ordered.
struct Level {
  std::string iname;
  std::vector<int> child_levels;           // of loops; -1 for a leaf
  std::vector<int> leaf;                   // instruction of a leaf child
  std::vector<int> rank;                   // of each child: its first instruction
  std::vector<std::pair<int, int>> edges;  // child before child
};

class BodySorter {
 public:
  BodySorter(const Kernel& k, const Nests& nests)
      : k_(k), nests_(nests), levels_(1), loops_(nests.all.size()) {
    std::map<std::pair<int, std::string_view>, int> known;  // (level, iname) -> child
    leaf_.reserve(nests.instructions());
    for (std::size_t s = 0; s < nests.instructions(); ++s) {
      Around& around = loops_[std::size_t(nests.number(s))];
      if (nests.of(s).first == s)
        for (const std::string& iname : nests.of(s).around->loops) {
          int& level = around.level;
          const auto [it, fresh] = known.try_emplace(std::pair(level, std::string_view(iname)),
                                                     static_cast<int>(levels_[level].leaf.size()));
          if (fresh) {
            add_child(level, static_cast<int>(levels_.size()), -1, s);
            levels_.push_back({iname, {}, {}, {}, {}});
          }
          around.children.push_back({level, it->second});
          level = levels_[level].child_levels[it->second];
        }
      if (s > 0 && nests.number(s) != nests.number(s - 1))
        alternate_ = alternate_ || !are_latest(around.children);
      leaf_.push_back(static_cast<int>(levels_[around.level].leaf.size()));
      add_child(around.level, -1, static_cast<int>(s), s);
    }
  }

  /// Whether the list has, between instructions of some loop, others outside of it.
  bool alternate() const { return alternate_; }

  /// `first` runs before `second` wherever they share no further loop.
  void demand(int first, int second) {
    const std::size_t a = std::size_t(first), b = std::size_t(second);
    const Around &x = around(a), &y = around(b);
    const std::size_t shared = &x == &y ? x.children.size() : 0;
    for (std::size_t i = shared; i <= x.children.size() && i <= y.children.size(); ++i) {
      const std::pair<int, int> c = child(x, a, i), d = child(y, b, i);
      if (c == d) continue;
      levels_[c.first].edges.push_back({c.second, d.second});
      return;
    }
  }

  LoopTree build() {
    LoopTree tree;
    tree.paths.resize(nests_.instructions());
    std::vector<int> index;
    tree.roots = children(0, index, tree);
    return tree;
  }

 private:
  /// The loops around the instructions of a nest: (level, child) from the top on.
  struct Around {
    std::vector<std::pair<int, int>> children;
    int level = 0;  // in which the instructions are leaves
  };
  const Around& around(std::size_t s) const { return loops_[std::size_t(nests_.number(s))]; }
  /// (level, child) of the `i`-th step down to the instruction `s`.
  std::pair<int, int> child(const Around& x, std::size_t s, std::size_t i) const {
    return i < x.children.size() ? x.children[i] : std::pair(x.level, leaf_[s]);
  }

  bool are_latest(const std::vector<std::pair<int, int>>& children) const {
    return std::all_of(children.begin(), children.end(), [&](const auto& c) {
      return c.second + 1 == std::ssize(levels_[c.first].leaf);
    });
  }

  void add_child(int level, int child_level, int leaf, std::size_t rank) {
    Level& l = levels_[level];
    l.child_levels.push_back(child_level);
    l.leaf.push_back(leaf);
    l.rank.push_back(static_cast<int>(rank));
  }

  /// The children of a level in the order in which they run.
  std::vector<int> sorted(int level) {
    const Level& l = levels_[level];
    // They were added by rank: where that meets all demands, it is the order.
    if (std::all_of(l.edges.begin(), l.edges.end(),
                    [](const auto& e) { return e.first < e.second; })) {
      std::vector<int> order(l.leaf.size());
      std::iota(order.begin(), order.end(), 0);
      return order;
    }
    Edges after(l.leaf.size());
    for (const auto& [a, b] : l.edges) after[a].insert(b);
    const std::vector<int> order = sort_topologically(after, l.rank);
    if (order.size() != after.size()) refuse_cycle(level, after);
    return order;
  }

  std::vector<TreeNode> children(int level, std::vector<int>& index, LoopTree& tree) {
    const std::vector<int> order = sorted(level);
    std::vector<TreeNode> out;
    out.resize(order.size());
    const auto outer = std::make_shared<const std::vector<int>>(index);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int c = order[i];
      TreeNode& node = out[i];
      if (const int below = levels_[level].child_levels[c]; below >= 0) {
        index.push_back(static_cast<int>(i));
        node.iname = levels_[below].iname;
        node.children = children(below, index, tree);
        index.pop_back();
      } else {
        node.insn = levels_[level].leaf[c];
        const std::size_t s = std::size_t(node.insn);
        tree.paths[s] = {nests_.of(s).around, outer, static_cast<int>(i)};
      }
    }
    return out;
  }

  std::string describe(int level, int child) const {
    const Level& l = levels_[level];
    if (l.leaf[child] >= 0) return "`" + k_.instructions[l.leaf[child]]->id + "`";
    return "the loop `" + levels_[l.child_levels[child]].iname + "`";
  }

  [[noreturn]] void refuse_cycle(int level, const Edges& after) {
    const std::vector<int> cycle = find_cycle(after);
    bool loops = false;
    std::string text;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      loops = loops || levels_[level].leaf[cycle[i]] < 0;
      text += (i ? " before " : "") + describe(level, cycle[i]);
    }
    text += " before " + describe(level, cycle[0]);
    Diagnostic d;
    d.where = {k_.instructions[levels_[level].rank[cycle[0]]]->at, {}};
    if (loops) {
      d.code = "cannot-nest";
      d.text = "statements cannot be ordered with one loop per iname: " + text;
      d.hint = "duplicate_inames, or another iname in the text, splits the loop in two";
    } else {
      d.code = "dependency-cycle";
      d.text = "instructions depend on each other: " + text;
    }
    throw Refused(d);
  }

  const Kernel& k_;
  const Nests& nests_;
  std::vector<Level> levels_;
  std::vector<Around> loops_;  // by nest
  std::vector<int> leaf_;      // by instruction: which child of its level
  bool alternate_ = false;
};

void print(const Kernel& k, const std::vector<TreeNode>& nodes, int depth, std::string& out) {
  for (const TreeNode& n : nodes) {
    out += std::string(2 * depth, ' ');
    if (n.is_loop()) {
      const InameTag* tag = k.tag(n.iname);
      out += "for " + n.iname + (tag ? "  [" + tag->text + "]" : "") + "\n";
      print(k, n.children, depth + 1, out);
      continue;
    }
    const Instruction& insn = *k.instructions[n.insn];
    std::string items;
    for (const std::string& iname : insn.inames)
      if (const InameTag* tag = k.tag(iname); in_team(tag))
        items += (items.empty() ? "" : ", ") + iname + ": " + tag->text;
    out += insn.id + (items.empty() ? "" : "  [" + items + "]") + "\n";
  }
}

}  // namespace

std::vector<SharedNames> derive_loops(const Kernel& k) {
  Nests nests(k);
  LoopSorter(k, nests).sort();
  std::vector<SharedNames> out;
  out.reserve(nests.instructions());
  for (std::size_t s = 0; s < nests.instructions(); ++s) out.push_back(nests.of(s).around->loops);
  return out;
}

LoopTree derive_tree(const Kernel& k,
                     const std::function<std::vector<std::pair<int, int>>()>& before) {
  Nests nests(k);
  LoopSorter(k, nests).sort();
  BodySorter bodies(k, nests);
  const auto demand = [&](const std::vector<std::pair<int, int>>& all) {
    for (const auto& [first, second] : all) bodies.demand(first, second);
    return std::all_of(all.begin(), all.end(), [](const auto& p) { return p.first < p.second; });
  };
  if (const bool listed = demand(dependencies(k)); !listed || bodies.alternate()) demand(before());
  return bodies.build();
}

LoopTree derive_tree(const Kernel& k, const std::vector<std::pair<int, int>>& before) {
  Nests nests(k);
  LoopSorter(k, nests).sort();
  BodySorter bodies(k, nests);
  for (const auto& [first, second] : dependencies(k)) bodies.demand(first, second);
  for (const auto& [first, second] : before) bodies.demand(first, second);
  return bodies.build();
}

std::string print_tree(const Kernel& realized, const LoopTree& tree) {
  std::string out;
  print(realized, tree.roots, 0, out);
  return out;
}

}  // namespace moonloop
