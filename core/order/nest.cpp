#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include "core/base/graph.h"
#include "core/infer/reductions.h"
#include "core/model/memo.h"
#include "core/model/textual_order.h"
#include "core/order/conflicts.h"
#include "core/order/legality.h"
#include "core/order/order_reference.h"
#include "core/order/two_instances.h"

/// Which order of statements the loop tree has to keep.
namespace moonloop {

std::vector<std::pair<int, int>> conflict_chain(const Kernel& k, const std::vector<int>& sequence) {
  struct State {
    int writer = -1;
    int reader = -1;                // the first one since that write
    std::vector<int> more_readers;  // the others
  };
  const Variables variables(k);
  std::vector<AccessList> lists;  // whose names the index holds
  lists.reserve(sequence.size());
  NameIndex numbers(sequence.size());
  std::vector<State> states;
  std::vector<std::pair<int, int>> pairs;
  for (const int s : sequence) {
    lists.push_back(statement_accesses(*k.instructions[std::size_t(s)], variables));
    const AccessList& all = lists.back();
    const auto first = all.begin();
    const auto state_of = [&](std::size_t a) -> State& {
      const int n = numbers.add(first[std::ptrdiff_t(a)].variable, all.hash(a),
                                static_cast<int>(states.size()));
      if (n == static_cast<int>(states.size())) states.emplace_back();
      return states[std::size_t(n)];
    };
    const std::vector<std::size_t>& written = all.writes();
    for (const std::size_t a : all.reads()) {
      State& st = state_of(a);
      if (st.writer >= 0) pairs.push_back({st.writer, s});
      if (std::none_of(written.begin(), written.end(), [&](std::size_t w) {
            return all.hash(w) == all.hash(a) &&
                   first[std::ptrdiff_t(w)].variable == first[std::ptrdiff_t(a)].variable;
          }))
        st.reader < 0 ? void(st.reader = s) : st.more_readers.push_back(s);
    }
    for (const std::size_t a : written) {
      State& st = state_of(a);
      if (st.reader >= 0) pairs.push_back({st.reader, s});
      for (const int r : st.more_readers) pairs.push_back({r, s});
      if (st.reader < 0 && st.writer >= 0) pairs.push_back({st.writer, s});
      st.writer = s, st.reader = -1;
      st.more_readers.clear();
    }
  }
  return pairs;
}

namespace {

/// Order among statements that lost a loop that they shared: the loops' direction of the textual
/// order no longer follows, so the dependences of each pair are queried.
class Fission {
 public:
  /// `within`: only dependences within one iteration of all loops that two statements share now
  /// count. Those that such a loop carries say nothing of their order in it; to tell them is more
  /// work.
  Fission(const Kernel& k, const Reference& r, const std::vector<int>& reference_of, bool within)
      : k_(k),
        r_(r),
        number_(reference_of),
        within_(within),
        statement_(std::size_t(r.order.size()), -1) {
    for (std::size_t s = 0; s < number_.size(); ++s)
      statement_[std::size_t(number_[s])] = static_cast<int>(s);
    for (const Claim& c : k.claims) claims_.emplace_back(c.kind, c.names);
  }

  /// Replaces the pairs that concern statements that lost a shared loop.
  void direct(std::vector<std::pair<int, int>>& pairs) {
    std::set<std::string> variables;
    for (const auto& [a, b] : pairs)
      if (lost(a, b)) collect_common(a, b, variables);
    if (variables.empty()) return;
    std::erase_if(pairs, [&](const auto& p) { return lost(p.first, p.second); });
    for (const std::string& v : variables) {
      const std::vector<AccessAt>& all = r_.by_variable().at(v);
      for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = i + 1; j < all.size(); ++j) add(all[i], all[j], pairs);
    }
  }

 private:
  int reference(int s) const { return number_[std::size_t(s)]; }

  bool lost(int a, int b) const {
    const RunOrder& was = r_.order;
    const int x = reference(a), y = reference(b);
    const Instruction &f = *k_.instructions[std::size_t(a)], &g = *k_.instructions[std::size_t(b)];
    if (f.origin.empty() && g.origin.empty()) return false;
    for (std::size_t i = 0; i < was.common_loops(x, y); ++i)
      if (!equal(origin_of(f, was.loops(x)[i]), origin_of(g, was.loops(x)[i]))) return true;
    return false;
  }

  void collect_common(int a, int b, std::set<std::string>& out) const {
    for (const Access& x : r_.accesses[std::size_t(reference(a))])
      for (const Access& y : r_.accesses[std::size_t(reference(b))])
        if (x.variable == y.variable && (x.write || y.write)) out.insert(x.variable);
  }

  /// Whether some axis has two different constants.
  static bool apart(const Access& x, const Access& y) {
    if (x.index.size() != y.index.size()) return false;
    for (std::size_t i = 0; i < x.index.size(); ++i) {
      const auto c = as_int(x.index[i]), d = as_int(y.index[i]);
      if (c && d && *c != *d) return true;
    }
    return false;
  }

  void add(const AccessAt& a, const AccessAt& b, std::vector<std::pair<int, int>>& pairs) {
    const int s = statement_[std::size_t(a.insn)], t = statement_[std::size_t(b.insn)];
    if (s == t || (!r_.at(a).write && !r_.at(b).write) || apart(r_.at(a), r_.at(b)) || !lost(s, t))
      return;
    const bool forward = depends(a, b);
    if (!forward && depends(b, a))
      pairs.push_back({t, s});
    else if (forward)
      pairs.push_back({s, t});
  }

  /// The answer is one for all accesses of a kind: subscripts, loops and conditions.
  bool depends(const AccessAt& a, const AccessAt& b) {
    const RunOrder& o = r_.order;
    if (within_) return depends_within(a, b);
    const std::array<int, 4> key{kind(a), kind(b), static_cast<int>(o.common_loops(a.insn, b.insn)),
                                 o.first(a.insn, b.insn) ? 1 : 0};
    const auto known = answers_.find(key);
    if (known != answers_.end()) return known->second;
    return answers_.emplace(key, find_dependence(a, b)).first->second;
  }

  int kind(const AccessAt& a) {
    const std::pair<int, int> place{a.insn, a.access};
    if (const auto it = kind_of_.find(place); it != kind_of_.end()) return it->second;
    const int next = static_cast<int>(kinds_.size());
    const std::string text = fmt::format(
        "{}|{}|{}|{}|{}", r_.at(a).variable, to_string(r_.at(a).index),
        fmt::join(r_.order.dims(a.insn), ","), to_string(r_.order.insn(a.insn).predicates),
        r_.at(a).when ? to_string(r_.at(a).when) : "");
    return kind_of_[place] = kinds_.emplace(text, next).first->second;
  }

  const Set& domain(int s) {
    const auto it = domains_.find(s);
    return it != domains_.end() ? it->second
                                : domains_.emplace(s, r_.order.domain(s).all).first->second;
  }

  /// One for all kernels made from the reference that claim the same.
  bool find_dependence(const AccessAt& a, const AccessAt& b) {
    const auto ask = [&] {
      const std::optional<bool> plain = plainly_depends(a, b);
      if (plain && !memo().compares) return *plain;
      const bool meet = !yes(isl_map_is_empty(dependence(a, b).get()));
      ensure(!plain || *plain == meet, "accesses meet where they plainly do");
      return meet;
    };
    const auto [it, fresh] =
        r_.depends.try_emplace({{a.insn, a.access, b.insn, b.access}, claims_}, false);
    if (fresh) {
      try {
        it->second = ask();
      } catch (...) {
        r_.depends.erase(it);
        throw;
      }
    } else if (memo().compares) {
      ensure(it->second == ask(), "what is remembered of two accesses holds");
    }
    return it->second;
  }

  /// A present statement, and its instances.
  struct Now {
    InsnPtr insn;
    std::vector<std::string> dims;
    Set points;
  };
  const Now& present(int reference) {
    const int s = statement_[std::size_t(reference)];
    const auto [it, fresh] = present_.try_emplace(s);
    Now& now = it->second;
    if (fresh) {
      now.insn = k_.instructions[std::size_t(s)];
      now.dims.assign(now.insn->inames.begin(), now.insn->inames.end());
      now.points = instances_of(k_, *now.insn, now.dims).all;
    }
    return now;
  }

  /// One for all kernels made from the reference in which both statements are the same.
  bool depends_within(const AccessAt& a, const AccessAt& b) {
    const Now &x = present(a.insn), &y = present(b.insn);
    std::vector<std::string> teams;
    for (const std::string& i : x.dims)
      if (y.insn->inames.contains(i) && in_team(k_.tag(i))) teams.push_back(i);
    Reference::AskedWithin asked{{a.insn, a.access, b.insn, b.access},
                                 x.insn.get(),
                                 y.insn.get(),
                                 x.points.get(),
                                 y.points.get(),
                                 std::move(teams),
                                 claims_};
    const auto known = r_.depends_within.find(asked);
    if (known != r_.depends_within.end()) {
      if (memo().compares)
        ensure(known->second.depends == find_within(a, x, b, y),
               "what is remembered of two accesses in one iteration holds");
      return known->second.depends;
    }
    const bool depends = find_within(a, x, b, y);
    r_.depends_within.emplace(std::move(asked),
                              Reference::AnswerWithin{x.insn, y.insn, x.points, y.points, depends});
    return depends;
  }

  bool find_within(const AccessAt& a, const Now& x, const AccessAt& b, const Now& y) {
    const std::optional<bool> plain = plainly_depends(a, b, &x, &y);
    if (plain && !memo().compares) return *plain;
    Map m = dependence(a, b);
    m = isl_map_apply_domain(m.take(), isl_map_reverse(origin(x, a.insn).take()));
    m = isl_map_apply_range(m.take(), isl_map_reverse(origin(y, b.insn).take()));
    for (std::size_t i = 0; i < x.dims.size(); ++i) {
      const auto at = std::find(y.dims.begin(), y.dims.end(), x.dims[i]);
      if (at != y.dims.end() && !in_team(k_.tag(x.dims[i])))
        m = equate(std::move(m), i, std::size_t(at - y.dims.begin()));
    }
    const bool meet = !yes(isl_map_is_empty(m.get()));
    ensure(!plain || *plain == meet, "accesses meet in one iteration where they plainly do");
    return meet;
  }

  /// Whether something in `a` comes before what `b` accesses with it; with present statements, in
  /// the same iteration of the loops that these share. What the constraints show without isl:
  /// certain, or nothing.
  std::optional<bool> plainly_depends(const AccessAt& a, const AccessAt& b, const Now* x = nullptr,
                                      const Now* y = nullptr) {
    const std::optional<bool> found = plainly_depends(a, b, x, y, !x);
    if (found != true || !x) return found;
    return plainly_depends(a, b, x, y, true) == true ? found : std::nullopt;
  }

  /// `whole`: with the instances of the reference; without them, an answer of yes is not certain.
  std::optional<bool> plainly_depends(const AccessAt& a, const AccessAt& b, const Now* x,
                                      const Now* y, bool whole) {
    const RunOrder& o = r_.order;
    TwoInstances two;
    const auto fixed = [&](const std::string& name) {
      return !r_.variables.has(name) && !k_.find_temporary(name) && !k_.has_iname(name) &&
             !o.kernel().has_iname(name);
    };
    const auto later = [](const TwoInstances::Names& from, const TwoInstances::Names& to,
                          const std::string& name) {
      return weighted_sum(1, to.at(name), -1, from.at(name));
    };
    std::array<TwoInstances::Names, 2> origins;
    for (int side = 0; side < 2; ++side) {
      const int s = side == 0 ? a.insn : b.insn;
      const Now* now = side == 0 ? x : y;
      if (!two.add(side, now ? now->dims : o.dims(s), now ? now->points : domain(s)))
        return std::nullopt;
      for (const std::string& d : o.dims(s)) {
        auto v = two.value(now ? origin_of(*now->insn, d) : var(d), two.values(side), fixed);
        if (!v) return std::nullopt;
        origins[side].emplace(d, std::move(*v));
      }
      if (!now || !whole) continue;
      const int was = side + 2;
      if (!two.add(was, o.dims(s), domain(s))) return std::nullopt;
      for (const std::string& d : o.dims(s)) {
        const auto apart = weighted_sum(1, two.values(was).at(d), -1, origins[side].at(d));
        if (!apart) return std::nullopt;
        two.proof.zero(*apart);
      }
    }
    if (x)
      for (const std::string& i : x->dims) {
        if (!y->insn->inames.count(i) || in_team(k_.tag(i))) continue;
        const auto f = later(two.values(0), two.values(1), i);
        if (!f) return std::nullopt;
        two.proof.zero(*f);
      }
    two.meet(r_.at(a), origins[0], r_.at(b), origins[1], r_.variables, fixed);
    std::vector<LinearForm> order;
    for (std::size_t i = 0; i < o.common_loops(a.insn, b.insn); ++i) {
      auto f = later(origins[0], origins[1], o.loops(a.insn)[i]);
      if (!f) return std::nullopt;
      order.push_back(std::move(*f));
    }
    two.take_in();
    const bool exact = two.exact;
    const auto none = keeps_order(std::move(two.proof), order, o.first(a.insn, b.insn), {}, false);
    if (!none || (!*none && !exact)) return std::nullopt;
    return !*none;
  }

  /// The present instances of a statement and those of the reference that they are.
  Map origin(const Now& now, int reference) const {
    Exprs values;
    for (const std::string& d : r_.order.dims(reference)) values.push_back(origin_of(*now.insn, d));
    const std::optional<Map> m = to_map(values, now.dims);
    if (!m) throw InternalError("an origin is not affine");
    return isl_map_intersect_domain(m->copy(), now.points.copy());
  }

  Map dependence(const AccessAt& a, const AccessAt& b) {
    const RunOrder& o = r_.order;
    Map m =
        meetings(o.kernel(), k_, r_.variables, r_.at(a), o.dims(a.insn), r_.at(b), o.dims(b.insn))
            .all;
    m = isl_map_intersect(m.take(), o.before(a.insn, b.insn, is_never_parallel).take());
    m = isl_map_intersect_domain(m.take(), domain(a.insn).copy());
    return isl_map_intersect_range(m.take(), domain(b.insn).copy());
  }

  const Kernel& k_;
  const Reference& r_;
  const std::vector<int>& number_;  // present statement -> reference
  const bool within_;
  ClaimsKey claims_;
  std::vector<int> statement_;                  // and back
  std::map<std::pair<int, int>, int> kind_of_;  // by statement and access
  std::unordered_map<std::string, int> kinds_;
  std::map<std::array<int, 4>, bool> answers_;
  std::map<int, Set> domains_;  // of the reference's statements
  std::map<int, Now> present_;
};

}  // namespace

/// So many pairs of statements are asked one by one.
constexpr std::size_t kAskedPairs = 10'000;

/// Whether `a` and `b` touch one element in one iteration of the loops that their statements share.
static bool meet_within(const Kernel& k, const Variables& variables, const Instruction& x,
                        const Access& a, const Instruction& y, const Access& b) {
  const std::vector<std::string> x_dims(x.inames.begin(), x.inames.end()),
      y_dims(y.inames.begin(), y.inames.end());
  Map m = meetings(k, k, variables, a, x_dims, b, y_dims).all;
  m = isl_map_intersect_domain(m.take(), instances_of(k, x, x_dims).all.take());
  m = isl_map_intersect_range(m.take(), instances_of(k, y, y_dims).all.take());
  for (std::size_t i = 0; i < x_dims.size(); ++i) {
    const auto at = std::find(y_dims.begin(), y_dims.end(), x_dims[i]);
    if (at != y_dims.end() && !in_team(k.tag(x_dims[i])))
      m = equate(std::move(m), i, std::size_t(at - y_dims.begin()));
  }
  return !yes(isl_map_is_empty(m.get()));
}

/// As conflict_chain, of statements that touch one element in an iteration of the loops that they
/// share; nothing where that would be too many questions. What such a loop carries says nothing of
/// an order in it. Where a step has moved reads, the rest of two statements may have no order.
static std::optional<std::vector<std::pair<int, int>>> conflicts_within(
    const Kernel& k, const std::vector<int>& sequence) {
  const Variables variables(k);
  std::vector<AccessList> lists;
  for (const int s : sequence)
    lists.push_back(statement_accesses(*k.instructions[std::size_t(s)], variables));
  std::vector<std::pair<int, int>> out;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < sequence.size(); ++i)
    for (std::size_t j = i + 1; j < sequence.size(); ++j) {
      const Instruction &x = *k.instructions[std::size_t(sequence[i])],
                        &y = *k.instructions[std::size_t(sequence[j])];
      bool any = false;
      for (const Access& a : lists[i])
        for (const Access& b : lists[j]) {
          if (any || a.variable != b.variable || (!a.write && !b.write)) continue;
          if (++asked > kAskedPairs) return std::nullopt;
          any = meet_within(k, variables, x, a, y, b);
        }
      if (any) out.emplace_back(sequence[i], sequence[j]);
    }
  return out;
}

Nested nest(Kernel k) {
  memo().limit();
  const std::shared_ptr<const Reference> measure = k.reference;
  Nested out{realize_reductions(std::move(k)), {}};
  if (!measure) {
    const std::vector<int> order = textual_order(out.kernel);
    out.tree = derive_tree(out.kernel, [&] { return conflict_chain(out.kernel, order); });
    return out;
  }
  const RunOrder& order = measure->order;
  std::vector<int> reference, sequence;
  for (const InsnPtr& insn : out.kernel.instructions) {
    reference.push_back(order.find(insn->reference_id()));
    if (reference.back() < 0)
      throw InternalError("no statement `" + insn->reference_id() + "` in the reference");
    sequence.push_back(static_cast<int>(sequence.size()));
  }
  std::sort(sequence.begin(), sequence.end(), [&](int a, int b) {
    return order.position(reference[std::size_t(a)]) < order.position(reference[std::size_t(b)]);
  });
  const std::vector<std::pair<int, int>> chain = conflict_chain(out.kernel, sequence);
  const auto tree = [&](std::vector<std::pair<int, int>> pairs, bool within) {
    Fission(out.kernel, *measure, reference, within).direct(pairs);
    return derive_tree(out.kernel, pairs);
  };
  try {
    out.tree = tree(chain, false);
  } catch (const Refused& refusal) {
    const auto attempt = [&](const std::optional<std::vector<std::pair<int, int>>>& pairs) {
      if (!pairs) return false;
      try {
        out.tree = tree(*pairs, true);
        return true;
      } catch (const Refused&) { return false; }
    };
    if (!attempt(chain) && !attempt(conflicts_within(out.kernel, sequence))) throw refusal;
  }
  return out;
}

/// Without the tags of the inames that `is_gone` accepts. Priorities ignore a team's inames, which
/// are not loops; without the tags they would not.
template <class F>
static Kernel without_tags(Kernel k, F is_gone) {
  for (std::vector<std::string>& chain : k.priorities)
    std::erase_if(chain, [&](const std::string& i) { return in_team(k.tag(i)) && is_gone(i); });
  std::vector<std::string> gone;
  for (const auto& [name, tag] : k.iname_tags)
    if (is_gone(name)) gone.push_back(name);
  for (const std::string& i : gone) k.iname_tags.erase(i);
  return k;
}

Kernel without_ordered_parts(Kernel k, const RunOrder& order) {
  std::set<std::string> items;
  for (int s = 0; s < order.size(); ++s)
    if (const auto parts = ordered_parts(order, s)) items.insert(parts->iname);
  if (items.empty()) return k;
  return without_tags(std::move(k), [&](const std::string& i) { return items.count(i) > 0; });
}

bool spreads(const InameTag* tag) {
  return in_team(tag) || (tag && run_of(tag->kind) == TagRun::Groups);
}

Kernel in_sequence(const Kernel& k) {
  return without_tags(k, [&](const std::string& i) { return spreads(k.tag(i)); });
}

std::vector<std::string> loop_order_in_sequence(const Kernel& k, const RunOrder& order) {
  const Kernel plain = in_sequence(order.kernel());
  if (plain.iname_tags.size() == k.iname_tags.size()) return k.loop_order;
  std::vector<SharedNames> loops;
  try {
    loops = derive_loops(plain);
  } catch (const Refused&) {
    return k.loop_order;  // only a team can nest them, and the tags stay
  }
  const auto moves = [&](const std::string& i) { return spreads(k.tag(i)); };
  const auto rest = [&](const std::vector<std::string>& all) {
    std::vector<std::string> out;
    std::remove_copy_if(all.begin(), all.end(), std::back_inserter(out), moves);
    return out;
  };
  // A team's iname is outside of a loop that is to be outside of it, where a priority holds that
  // loop back.
  std::map<std::string_view, std::size_t> preferred;
  for (const std::string& i : k.loop_order) preferred.emplace(i, preferred.size());
  std::vector<std::pair<std::string, std::string>> passed;  // a loop, and what passed it
  if (!k.priorities.empty())
    for (const SharedNames& around : loops) {
      const std::vector<std::string>& all = around;
      for (std::size_t t = 0; t < all.size(); ++t)
        for (std::size_t l = t + 1; l < all.size() && in_team(k.tag(all[t])); ++l)
          if (!moves(all[l]) && preferred[all[l]] < preferred[all[t]])
            passed.emplace_back(all[l], all[t]);
    }
  bool same = passed.empty();
  for (int s = 0; s < order.size() && same; ++s)
    same = rest(loops[std::size_t(s)]) == rest(order.loops(s));
  if (same) return k.loop_order;

  NameIndex numbers(k.loop_order.size());
  std::vector<std::string> names;
  const auto number = [&](const std::string& i) {
    const int n = numbers.add(i, int(names.size()));
    if (n == int(names.size())) names.push_back(i);
    return n;
  };
  for (const std::string& i : k.loop_order) number(i);
  for (int s = 0; s < order.size(); ++s)
    for (const std::string& i : order.loops(s)) number(i);
  Edges inside(names.size());
  for (int s = 0; s < order.size(); ++s)
    for (std::size_t i = 1; i < order.loops(s).size(); ++i)
      inside[std::size_t(number(order.loops(s)[i - 1]))].insert(number(order.loops(s)[i]));
  for (const auto& [loop, item] : passed) inside[std::size_t(number(loop))].insert(number(item));
  std::vector<int> rank(names.size());
  std::iota(rank.begin(), rank.end(), 0);
  const std::vector<int> sorted = sort_topologically(inside, rank);
  ensure(sorted.size() == names.size(), "loops of a tree that are inside of each other");
  std::vector<std::string> out;
  for (const int i : sorted)
    if (k.has_iname(names[std::size_t(i)])) out.push_back(names[std::size_t(i)]);
  return out;
}

Nested nest_in_sequence(const Kernel& k) {
  const Kernel plain = in_sequence(k);
  if (plain.iname_tags.size() == k.iname_tags.size()) return nest(k);
  try {
    return nest(plain);
  } catch (const Refused&) {
    Nested team = nest(k);
    const Kernel loops = without_ordered_parts(k, RunOrder(team));
    return loops.iname_tags.size() == k.iname_tags.size() ? team : nest(loops);
  }
}

}  // namespace moonloop
