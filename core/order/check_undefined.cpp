#include <algorithm>
#include <limits>
#include <unordered_set>

#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/textual_order.h"
#include "core/order/check_uses.h"
#include "core/order/order.h"
#include "core/order/plain_flow.h"
#include "core/sets/budget.h"
#include "core/sets/witness.h"

namespace moonloop {
namespace {

/// All uses of one temporary.
struct History {
  std::vector<Use> reads, writes;
  int first_write = std::numeric_limits<int>::max();  // in statement order
  // Elements that some instance may write; made when it is first needed.
  bool anything = false;
  std::vector<Set> elements;
  bool made = false;
};

std::string point_text(const std::vector<std::string>& names,
                       const std::map<std::string, std::int64_t>& values) {
  std::string out;
  for (const std::string& n : names)
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", n, values.at(n));
  return out.empty() ? "" : "[" + out + "]";
}

class UndefinedReads : public UseCheck {
 public:
  UndefinedReads(const Kernel& k, ProgramPoints& points, bool elements_known)
      : k_(k), points_(points), in_bounds_(claimed_in_bounds(k)), elements_known_(elements_known) {
    if (k_.temporaries.empty()) return;
    for (const auto& [name, t] : k_.temporaries)
      if (!t.initializer) histories_.try_emplace(name);
    const std::vector<int> order = textual_order(k_);
    for (std::size_t i = 0; i < order.size(); ++i)
      position_.emplace(k_.instructions[static_cast<std::size_t>(order[i])].get(),
                        static_cast<int>(i));
  }

  void see(const Use& u) override {
    const auto it = histories_.find(*u.name);
    if (it == histories_.end()) return;
    History& h = it->second;
    if (!u.write && (u.whole || is_given_back(u))) return;  // what it reads is not known
    (u.write ? h.writes : h.reads).push_back(u);
    if (u.write) h.first_write = std::min(h.first_write, position_.at(u.insn));
  }

  void finish() override {
    QuestionBudget questions(kQuestionOperations, kPhaseOperations / 4);
    for (auto& [name, h] : histories_) {
      std::unordered_set<std::string> seen;  // alike reads are judged once
      for (const Use& read : h.reads)
        if (is_in_question(h, read)) questions.ask([&] { judge(name, h, read, seen); });
    }
    check_bounds_of_loops();
  }

 private:
  /// An argument of something external that gets a value from it, and need not be read before.
  bool is_given_back(const Use& u) const {
    if (!external_call(k_, *u.insn)) return false;
    const Exprs& given = u.insn->lhs;
    return std::any_of(given.begin(), given.end(),
                       [&](const Expr& e) { return equal(e, *u.expr); });
  }

  /// Not a scalar that is written further up, which has a value without asking isl.
  bool is_in_question(const History& h, const Use& read) const {
    return h.writes.empty() || h.first_write >= position_.at(read.insn) || asks_for_elements(read);
  }
  bool asks_for_elements(const Use& read) const {
    return !elements_known_ && read.index && !read.linear && !read.index->empty();
  }

  static Span at(const Use& u) { return u.expr->at() ? u.expr->at() : u.insn->at; }

  void judge(const std::string& name, History& h, const Use& read,
             std::unordered_set<std::string>& seen) {
    if (h.writes.empty())
      fail("undefined-read", at(read), "`{}` reads the temporary `{}`, which nothing writes",
           read.insn->id, name);
    if (h.first_write >= position_.at(read.insn)) judge_order(name, h, read);
    if (!asks_for_elements(read)) return;
    if (seen.insert(std::to_string(read.point) + "|" + to_string(*read.index)).second)
      judge_elements(name, h, read);
  }

  /// No write is before the read: only earlier iterations of shared loops can have written.
  void judge_order(const std::string& name, const History& h, const Use& read) {
    if (!points_.exact(read.point) && std::all_of(h.writes.begin(), h.writes.end(), [&](auto& w) {
          return yes(isl_set_is_empty(points_.instances(w.point).get()));
        }))
      return;  // where statements are that never run says nothing, and the read may never run
    std::set<std::string> shared;
    for (const Use& w : h.writes)
      for (const std::string& i : w.insn->inames)
        if (read.insn->inames.count(i)) shared.insert(i);
    std::optional<Sample> first;
    if (!shared.empty()) {
      first = first_read(h, read);
      if (!first) return;
    } else if (yes(isl_set_is_empty(points_.instances(read.point).get()))) {
      return;
    }
    const Use* writer = &h.writes.front();
    for (const Use& w : h.writes)
      if (position_.at(w.insn) < position_.at(writer->insn)) writer = &w;
    Diagnostic d;
    d.code = "undefined-read";
    const std::string where =
        first ? point_text({read.insn->inames.begin(), read.insn->inames.end()}, first->dims) : "";
    d.text = fmt::format("`{}{}` reads the temporary `{}` before anything is written to it",
                         read.insn->id, where, name);
    d.where = {at(read), {}};
    if (writer->insn == read.insn) {
      d.hint = fmt::format("assign `{}` a first value", name);
    } else {
      d.notes.push_back({writer->insn->at, fmt::format("first written by `{}`", writer->insn->id)});
      d.hint = fmt::format("move `{}` before `{}`, or add `dep={}`", writer->insn->id,
                           read.insn->id, writer->insn->id);
    }
    throw Error(std::move(d));
  }

  /// An instance of the read that no instance of a write can precede, however the loops nest: none
  /// of the shared loops is at a smaller value in any write. Nothing when there is none, or when
  /// the read's instances are not known exactly.
  std::optional<Sample> first_read(const History& h, const Use& read) {
    if (!points_.exact(read.point)) return std::nullopt;
    Set left = points_.instances(read.point);
    if (!points_.temporaries_in(left).empty()) return std::nullopt;
    std::unordered_set<std::string> done;
    for (const Use& w : h.writes)
      for (const std::string& i : w.insn->inames) {
        if (!read.insn->inames.count(i) || !done.insert(std::to_string(w.point) + "|" + i).second)
          continue;
        // { i : some write has a smaller one }
        Set writes = to_dims(points_.instances(w.point), {i});
        writes = drop_params(writes, points_.temporaries_in(writes));
        Space space = isl_set_get_space(writes.get());
        Map less = isl_map_lex_lt(space.take());
        Set later = isl_set_apply(writes.take(), less.take());
        later = isl_set_set_dim_name(later.take(), isl_dim_set, 0, i.c_str());
        left = isl_set_subtract(left.take(),
                                to_dims(std::move(later), points_.inames(read.point)).take());
      }
    return sample(left);
  }

  /// Elements that `u` touches, or nothing when they are not known.
  std::optional<Set> elements(const Use& u, bool exactly) {
    const bool clamped = exactly && in_bounds_.count(*u.name);
    if (const auto joined = clamped ? std::nullopt : points_.joined(u.point, *u.index)) {
      const std::vector<std::string> data = points_.temporaries_in(joined->instances);
      if (exactly && (!data.empty() || !joined->exact)) return std::nullopt;
      const auto map = to_map(joined->exprs, joined->inames);
      if (!map) return std::nullopt;
      return Set(isl_set_apply(drop_params(joined->instances, data).take(), map->copy()));
    }
    const std::vector<std::string>& inames = points_.inames(u.point);
    Set s = points_.instances(u.point);
    const std::vector<std::string> data = points_.temporaries_in(s);
    if (exactly && (!data.empty() || !points_.exact(u.point))) return std::nullopt;
    s = drop_params(std::move(s), data);
    for (const Expr& e : *u.index)
      if (!points_.affine(u.point, e)) return std::nullopt;
    if (clamped) s = inside(u, std::move(s));
    auto map = to_map(*u.index, inames);
    if (!map) return std::nullopt;
    return Set(isl_set_apply(s.take(), map->take()));
  }

  /// The instances of `s` whose subscripts are inside of the array: a claim says that all are.
  Set inside(const Use& u, Set s) {
    const Exprs& shape = *k_.find_temporary(*u.name)->shape;
    for (std::size_t d = 0; d < u.index->size(); ++d) {
      const PwAff index = *points_.affine(u.point, (*u.index)[d]);
      s = isl_set_intersect(s.take(), isl_pw_aff_nonneg_set(index.copy()));
      if (const auto size = points_.affine(u.point, shape[d]))
        s = isl_set_intersect(s.take(), isl_pw_aff_lt_set(index.copy(), size->copy()));
    }
    return s;
  }

  void make_elements(History& h) {
    h.made = true;
    std::unordered_set<std::string> seen;
    for (const Use& w : h.writes) {
      if (!w.index || w.linear) {
        h.anything = true;
        return;
      }
      if (!seen.insert(std::to_string(w.point) + "|" + to_string(*w.index)).second) continue;
      constexpr std::size_t many = 40;  // a union of more is not worth its price
      auto s = seen.size() > many ? std::nullopt : elements(w, false);
      if (!s) {
        h.anything = true;
        return;
      }
      h.elements.push_back(std::move(*s));
    }
  }

  /// { instances -> elements }, also of those of which it is not known whether they run.
  std::optional<Map> touched(const Use& u) {
    if (!u.index || u.linear) return std::nullopt;
    for (const Expr& e : *u.index)
      if (!points_.affine(u.point, e)) return std::nullopt;
    auto map = to_map(*u.index, points_.inames(u.point));
    if (!map) return std::nullopt;
    Set s = points_.instances(u.point);
    s = drop_params(std::move(s), points_.temporaries_in(s));
    return Map(isl_map_intersect_domain(map->take(), s.take()));
  }

  /// Those of the pairs in which the loops that both uses are in have the same values.
  Map in_equal_iterations(Map pairs, const Use& w, const Use& r) {
    const auto &a = points_.inames(w.point), &b = points_.inames(r.point);
    for (std::size_t i = 0; i < a.size(); ++i)
      if (const auto at = std::find(b.begin(), b.end(), a[i]); at != b.end())
        pairs = equate(std::move(pairs), i, std::size_t(at - b.begin()));
    return pairs;
  }

  /// The same, by constraints as they stand.
  bool linearly_written(const History& h, const Use& read) {
    if (!variables_) variables_.emplace(k_);
    Set left = points_.instances(read.point);
    if (!read.index || read.linear || !points_.temporaries_in(left).empty()) return false;
    for (const bool in_equal_iterations : {true, false})
      for (const Use& w : h.writes) {
        const Set& points = points_.instances(w.point);
        PlainPairs pairs(k_, *variables_);
        if (!w.index || w.linear || !points_.temporaries_in(points).empty() ||
            !pairs.add(points_.inames(w.point), points, *w.index, points_.inames(read.point),
                       *read.index))
          continue;
        if (in_equal_iterations)
          for (const std::string& i : points_.inames(w.point)) pairs.equate(i);
        const auto rows = pairs.rows();
        if (rows) left = without_reached(left, std::vector<LinearRows>{*rows});
        if (yes(isl_set_plain_is_empty(left.get()))) return true;
      }
    return false;
  }

  /// Whether each instance of the read surely is of an element that some instance may write.
  bool plainly_written(const History& h, const Use& read) {
    constexpr std::size_t kFew = 8;
    if (h.writes.size() <= kFew && linearly_written(h, read)) return true;
    const auto wanted = h.writes.size() <= kFew ? touched(read) : std::nullopt;
    if (!wanted) return false;
    Set left = points_.instances(read.point);
    left = drop_params(std::move(left), points_.temporaries_in(left));
    std::vector<Map> found;
    for (const Use& w : h.writes) {
      auto written = touched(w);
      if (!written) continue;
      Map pairs = isl_map_apply_range(written->take(), isl_map_reverse(wanted->copy()));
      left = without_reached(left, in_equal_iterations(pairs, w, read));
      if (!yes(isl_set_plain_is_empty(left.get()))) left = without_reached(left, pairs);
      if (yes(isl_set_plain_is_empty(left.get()))) return true;
      found.push_back(std::move(pairs));
    }
    for (const Map& pairs : found) left = without_reached(left, pairs);  // what others have left
    return yes(isl_set_plain_is_empty(left.get()));
  }

  /// Every element read must be written by some instance, whenever that runs.
  void judge_elements(const std::string& name, History& h, const Use& read) {
    for (const Use& w : h.writes)
      if (w.index && !w.linear && w.point == read.point && equal(*w.index, *read.index)) return;
    if (plainly_written(h, read)) return;
    if (!h.made) make_elements(h);
    if (h.anything) return;
    const auto wanted = elements(read, true);
    if (!wanted) return;
    Set missing = *wanted;
    for (const Set& s : h.elements) missing = isl_set_subtract(missing.take(), s.copy());
    if (yes(isl_set_is_empty(missing.get()))) return;
    if (in_bounds_.count(name)) {  // for other values of parameters only: a claim says none
      const Set some = isl_set_params(missing.copy()), all = isl_set_params(wanted->copy());
      if (!yes(isl_set_is_subset(all.get(), some.get()))) return;
    }
    const std::size_t rank = read.index->size();
    std::vector<std::string> axes;
    for (std::size_t d = 0; d < rank; ++d) {
      axes.push_back("axis " + std::to_string(d));
      missing = isl_set_set_dim_name(missing.take(), isl_dim_set, static_cast<unsigned>(d),
                                     axes.back().c_str());
    }
    const auto found = sample(missing);
    std::string element, with;
    for (const std::string& a : axes)
      element += fmt::format("{}{}", element.empty() ? "" : ", ", found->dims.at(a));
    for (const auto& [n, v] : found->params)
      with += fmt::format("{}{} = {}", with.empty() ? " for " : ", ", n, v);
    fail("undefined-read", at(read), "`{}` reads `{}[{}]` through `{}`, which nothing writes{}",
         read.insn->id, name, element, to_string(*read.expr), with);
  }

  void check_bounds_of_loops() {
    for (const Domain& d : k_.domains)
      for (const std::string& p : d.params()) {
        const auto h = histories_.find(p);
        if (h != histories_.end() && h->second.writes.empty())
          fail("undefined-read", d.at ? d.at : k_.at,
               "the bounds of `{}` need the temporary `{}`, which nothing writes", str(d.set), p);
      }
  }

  const Kernel& k_;
  ProgramPoints& points_;
  const std::set<std::string> in_bounds_;
  const bool elements_known_;
  std::unordered_map<const Instruction*, int> position_;
  NameMap<History> histories_;
  std::optional<Variables> variables_;  // once they are asked for
};

}  // namespace

std::unique_ptr<UseCheck> undefined_reads_check(const Kernel& k, ProgramPoints& points,
                                                bool elements_known) {
  return std::make_unique<UndefinedReads>(k, points, elements_known);
}

}  // namespace moonloop
