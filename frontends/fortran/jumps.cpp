#include <algorithm>

#include "core/base/diagnostic.h"
#include "frontends/fortran/entries.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/uses.h"

// `goto` as loops and as scopes that are left. In the statements that have a label among them, a
// jump back makes a loop from the label to the jump, and a jump ahead leaves a scope that ends at
// the label. Loops and scopes that would overlap grow until they nest.
namespace moonloop::fortran {
namespace {

using Label = std::uint64_t;

/// A loop or a scope, of the statements from `first` to before `end`.
struct Range {
  std::size_t first, end;
  Label label;
  bool loop;
};

/// A jump from statement `from`, or from within it, to the label at `to`.
struct Way {
  std::size_t from, to;
  Label label;
};

class Structuring {
 public:
  explicit Structuring(Routine& r) : r_(r) {}

  void run() {
    Body out = sequence(r_.body);
    out.insert(out.begin(), initial_.begin(), initial_.end());
    r_.body = std::move(out);
  }

 private:
  struct Around {
    bool of_source = false;  // a loop or scope that was there
    Label label = 0;         // else a jump to it leaves the scope, or begins the loop again
    bool loop = false;
  };

  // ---- Where to go.

  static void add_targets(const Body& b, std::vector<std::pair<Label, Span>>& out) {
    for (const Statement& s : b) {
      if (const auto* j = std::get_if<Jump>(&s.what)) out.emplace_back(j->label, s.at);
      for (const auto* inner : bodies(s)) add_targets(**inner, out);
    }
  }
  static std::vector<Way> ways_in(const Body& b) {
    std::map<Label, std::size_t> places;
    for (std::size_t i = 0; i < b.size(); ++i)
      if (const auto* m = std::get_if<Mark>(&b[i].what)) places.emplace(m->label, i);
    std::vector<Way> out;
    if (places.empty()) return out;
    for (std::size_t i = 0; i < b.size(); ++i) {
      std::vector<std::pair<Label, Span>> to;
      add_targets({b[i]}, to);
      for (const auto& [label, at] : to)
        if (const auto it = places.find(label); it != places.end())
          out.push_back({i, it->second, label});
    }
    return out;
  }

  /// From labels to the last jumps back to them, or to the ends of loops that begin in them.
  static std::vector<Range> loops_of(const std::vector<Way>& ways) {
    std::map<std::size_t, Range> by_first;
    for (const Way& w : ways) {
      if (w.to > w.from) continue;
      const auto it = by_first.try_emplace(w.to, Range{w.to, 0, w.label, true}).first;
      it->second.end = std::max(it->second.end, w.from + 1);
    }
    std::vector<Range> out;
    for (const auto& [first, r] : by_first) out.push_back(r);
    for (bool changed = true; changed;) {
      changed = false;
      for (Range& a : out)
        for (const Range& b : out)
          if (a.first < b.first && b.first < a.end && a.end < b.end) a.end = b.end, changed = true;
    }
    return out;
  }

  static std::vector<Range> scopes_of(const std::vector<Way>& ways,
                                      const std::vector<Range>& loops) {
    std::map<std::size_t, Range> by_end;
    for (const Way& w : ways) {
      if (w.to <= w.from) continue;
      const auto it = by_end.try_emplace(w.to, Range{w.from, w.to, w.label, false}).first;
      it->second.first = std::min(it->second.first, w.from);
    }
    std::vector<Range> out;
    for (const auto& [end, r] : by_end) out.push_back(r);
    for (bool changed = true; changed;) {
      changed = false;
      const auto grow = [&](Range& s, const Range& other) {
        if (other.first < s.first && s.first < other.end && other.end < s.end)
          s.first = other.first, changed = true;
      };
      for (Range& s : out) {
        for (const Range& l : loops) grow(s, l);
        for (const Range& other : out) grow(s, other);
      }
    }
    return out;
  }

  // ---- Jumps into loops.

  /// Makes jumps to `label` set the flag and go to `begin`.
  Body redirected(const Body& b, Label label, Label begin, const Expr& flag) const {
    Body out;
    for (Statement s : b) {
      for (auto* inner : bodies(s))
        *inner = std::make_shared<Body>(redirected(**inner, label, begin, flag));
      auto* j = std::get_if<Jump>(&s.what);
      if (j && j->label == label) {
        out.push_back({s.at, Assignment{flag, Expr(BoolLit{true}, s.at)}});
        j->label = begin;
      }
      out.push_back(std::move(s));
    }
    return out;
  }

  /// A loop is entered at its beginning only: a flag says that the first turn goes on elsewhere.
  bool enter_at_beginning(Body& b, const std::vector<Way>& ways, const std::vector<Range>& loops) {
    for (const Range& l : loops)  // outer ones first
      for (const Way& w : ways) {
        if (w.from >= l.first || w.to <= l.first || w.to >= l.end) continue;
        const Span at = b[w.to].at;
        const bool entry = w.label >= label_of_entry(0);
        const std::string name = "from_" + (entry ? "entry" : std::to_string(w.label));
        const Expr flag = new_scalar(r_, name, moonloop::Scalar::Bool, at);
        initial_.push_back({at, Assignment{flag, Expr(BoolLit{false}, at)}});
        Choice c;
        c.arms.push_back(
            {flag, std::make_shared<Body>(Body{{at, Assignment{flag, Expr(BoolLit{false}, at)}},
                                               {at, Jump{w.label}}})});
        const auto begin = b.begin() + static_cast<std::ptrdiff_t>(l.first);
        Body out = redirected(Body(b.begin(), begin), w.label, l.label, flag);
        out.push_back(*begin);
        out.push_back({at, std::move(c)});
        out.insert(out.end(), begin + 1, b.end());
        b = std::move(out);
        return true;
      }
    return false;
  }

  // ---- What comes in their places.

  Body sequence(Body b) {
    std::vector<Way> ways = ways_in(b);
    std::vector<Range> loops = loops_of(ways);
    while (enter_at_beginning(b, ways, loops)) {
      ways = ways_in(b);
      loops = loops_of(ways);
    }
    std::vector<Range> ranges = scopes_of(ways, loops);
    ranges.insert(ranges.end(), loops.begin(), loops.end());
    std::stable_sort(ranges.begin(), ranges.end(), [](const Range& x, const Range& y) {
      return x.first != y.first ? x.first < y.first : x.end > y.end;
    });
    std::size_t next = 0;
    return within(b, 0, b.size(), ranges, next);
  }

  /// Statements from `from` to before `to`, with the ranges from `next` on that are in them.
  Body within(const Body& b, std::size_t from, std::size_t to, const std::vector<Range>& ranges,
              std::size_t& next) {
    Body out;
    while (from < to) {
      if (next == ranges.size() || ranges[next].first != from) {
        statement(b[from++], out);
        continue;
      }
      const Range r = ranges[next++];
      const Span at = b[r.first].at;
      around_.push_back({false, r.label, r.loop});
      auto body = std::make_shared<Body>(within(b, r.first, r.end, ranges, next));
      around_.pop_back();
      if (r.loop) {
        body->push_back({at, Leave{Leave::Kind::Exit}});
        Do d;
        d.body = std::move(body);
        out.push_back({at, std::move(d)});
      } else {
        out.push_back({at, Scope{std::move(body)}});
      }
      from = r.end;
    }
    return out;
  }

  void statement(Statement s, Body& out) {
    if (std::holds_alternative<Mark>(s.what)) return;
    if (auto* l = std::get_if<Leave>(&s.what)) l->loop = counted(*l);
    if (const auto* j = std::get_if<Jump>(&s.what)) s.what = leave(*j, s.at);
    const auto* f = std::get_if<Forall>(&s.what);
    const bool one = std::holds_alternative<Do>(s.what) || std::holds_alternative<Scope>(s.what);
    const std::size_t loops = one ? 1 : f ? f->ranges.size() : 0;
    around_.insert(around_.end(), loops, Around{true});
    for (auto* inner : bodies(s)) *inner = std::make_shared<Body>(sequence(**inner));
    around_.resize(around_.size() - loops);
    out.push_back(std::move(s));
  }

  /// Which loop it leaves, with those that are new.
  int counted(const Leave& l) const {
    if (l.kind == Leave::Kind::Return) return l.loop;
    int inside = 0, of_source = 0;
    for (auto a = around_.rbegin(); a != around_.rend(); ++a, ++inside)
      if (a->of_source && of_source++ == l.loop) return inside;
    throw InternalError("a loop that is left is not around");
  }

  Leave leave(const Jump& j, const Span& at) const {
    int inside = 0;
    for (auto a = around_.rbegin(); a != around_.rend(); ++a, ++inside)
      if (!a->of_source && a->label == j.label)
        return {a->loop ? Leave::Kind::Cycle : Leave::Kind::Exit, inside};
    fail("unsupported", at,
         "`goto {}`, which goes into a construct, is not supported in Fortran kernels", j.label);
  }

  Routine& r_;
  std::vector<Around> around_;  // the current statement, outer ones first
  Body initial_;                // what flags are at the routine's start
};

}  // namespace

void structure_jumps(Routine& routine) { Structuring(routine).run(); }

}  // namespace moonloop::fortran
