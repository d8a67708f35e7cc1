#include "codegen/plan/branches.h"

#include <algorithm>
#include <utility>

#include "core/order/reference.h"

namespace moonloop {
namespace {

using Variables = std::set<std::string>;
using AsksInteger = std::function<bool(const Expr&)>;

/// `a` holds exactly where `b` does not.
bool negates(const Expr& a, const Expr& b, const AsksInteger& integer) {
  const auto is_not = [](const Expr& x, const Expr& of) {
    const auto* n = x.as<Unary>();
    return n && n->op == UnaryOp::Not && equal(n->arg, of);
  };
  if (is_not(a, b) || is_not(b, a)) return true;
  const auto *x = a.as<Compare>(), *y = b.as<Compare>();
  if (!x || !y || !equal(x->left, y->left) || !equal(x->right, y->right)) return false;
  const auto either = [&](CompareOp p, CompareOp q) {
    return (x->op == p && y->op == q) || (x->op == q && y->op == p);
  };
  if (either(CompareOp::Eq, CompareOp::Ne)) return true;
  return (either(CompareOp::Lt, CompareOp::Ge) || either(CompareOp::Le, CompareOp::Gt)) &&
         integer(x->left) && integer(x->right);  // of a NaN neither holds
}

/// What holds where a statement runs.
class KnownTerms {
 public:
  void add(const Expr& term) {
    if (holds(term)) return;
    Variables names;
    collect_reads(term, names);
    if (terms_.size() == kMost) terms_.erase(terms_.begin());
    terms_.push_back({term, std::move(names)});
  }
  bool holds(const Expr& term) const {
    return std::any_of(terms_.begin(), terms_.end(),
                       [&](const Term& t) { return equal(t.what, term); });
  }
  void forget(const Variables& written) {
    std::erase_if(terms_, [&](const Term& t) {
      return std::any_of(t.reads.begin(), t.reads.end(),
                         [&](const std::string& n) { return written.contains(n); });
    });
  }
  void forget_all() { terms_.clear(); }
  /// Only what holds in `other` as well.
  void keep(const KnownTerms& other) {
    std::erase_if(terms_, [&](const Term& t) { return !other.holds(t.what); });
  }

 private:
  static constexpr std::size_t kMost = 32;  // of the conditions around a place; the oldest ones go
  struct Term {
    Expr what;
    Variables reads;
  };
  std::vector<Term> terms_;
};

/// A block that needs its braces.
bool needs_braces(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const Stmt& s) {
    const auto* run = std::get_if<Run>(&s.op);
    return std::holds_alternative<Declare>(s.op) || (run && !run->declares.empty());
  });
}

Block enclosed(Block block) {
  return needs_braces(block) ? only(Stmt{Scope{{}, {}, std::move(block)}}) : std::move(block);
}

bool ends_by_leaving(const Block& block) {
  return !block.empty() && std::holds_alternative<Leave>(block.back().op);
}

class Branches {
 public:
  Branches(const Kernel& k, const AsksInteger& integer) : k_(k), integer_(integer) {}

  /// `known`: what holds before it, then what holds behind it. True where its end is not reached.
  bool sequence(Block& block, KnownTerms& known) {
    Block out;
    bool left = false;
    for (std::size_t i = 0; i < block.size() && !left; ++i) {
      rest_.emplace_back(&block, i + 1);
      left = one(block[i], known, out);
      rest_.pop_back();
    }
    block = std::move(out);
    return left;
  }

  /// Drops flags that were asked, and no longer are.
  void drop_unread(Block& block) {
    std::erase_if(unasked_, [&](const std::string& name) {
      const Temporary* t = k_.find_temporary(name);
      return !t || !is_scalar(*t);
    });
    if (unasked_.empty()) return;
    find_read(block);
    if (!unasked_.empty()) drop(block);
  }

 private:
  static bool is_scalar(const Temporary& t) { return !t.shape || t.shape->empty(); }

  /// Takes those away from the candidates that something reads, or that get another value.
  void find_read(const Block& block) {
    const auto in = [&](const Expr& e) {
      Variables names;
      if (e) collect_reads(e, names);
      for (const std::string& n : names) unasked_.erase(n);
    };
    const auto among = [&](const std::map<std::string, Expr>& values) {
      for (const auto& [iname, value] : values) in(value);
    };
    const auto statement = [&](const Instruction& i, bool flag) {
      in(i.rhs);
      for (const Expr& l : i.lhs) {
        if (!flag) unasked_.erase(written_name(l));
        if (const auto* element = l.as<Load>())
          for (const Expr& e : element->index) in(e);
      }
    };
    for (const Stmt& s : block)
      std::visit(
          overload{[&](const Loop& x) {
                     in(x.lower), in(x.upper), in(x.only_while);
                     find_read(x.body);
                   },
                   [&](const If& x) { in(x.cond), find_read(x.body), find_read(x.otherwise); },
                   [&](const Scope& x) { in(x.value), find_read(x.body); },
                   [&](const Run& x) {
                     among(x.values);
                     statement(insn(x), static_cast<bool>(decided_flag(x)));
                   },
                   [&](const Launch& x) { find_read(x.body); },
                   [&](const GroupCombine& x) { among(x.values), in(x.cond); }, [](const auto&) {}},
          s.op);
  }

  void drop(Block& block) const {
    std::erase_if(block, [&](Stmt& s) {
      if (auto* x = std::get_if<Loop>(&s.op)) drop(x->body);
      if (auto* x = std::get_if<If>(&s.op)) {
        drop(x->body), drop(x->otherwise);
        if (x->body.empty()) {
          x->cond = negation(x->cond);
          std::swap(x->body, x->otherwise);
        }
        if (x->body.empty()) return true;
      }
      if (auto* x = std::get_if<Scope>(&s.op)) drop(x->body);
      if (auto* x = std::get_if<Launch>(&s.op)) drop(x->body);
      if (const auto* d = std::get_if<Declare>(&s.op)) return unasked_.contains(d->temporary);
      const auto* run = std::get_if<Run>(&s.op);
      return run && decided_flag(*run) && unasked_.contains(written_name(insn(*run).lhs[0]));
    });
  }

  using Places = std::vector<std::pair<const Block*, std::size_t>>;

  const Instruction& insn(const Run& r) const { return *k_.instructions[std::size_t(r.insn)]; }

  void collect_writes(const Block& block, Variables& out) const {
    for (const Stmt& s : block)
      std::visit(
          overload{[&](const Loop& x) { collect_writes(x.body, out); },
                   [&](const If& x) {
                     collect_writes(x.body, out);
                     collect_writes(x.otherwise, out);
                   },
                   [&](const Scope& x) { collect_writes(x.body, out); },
                   [&](const Run& x) { out.merge(writes(insn(x))); },
                   [&](const Launch& x) { collect_writes(x.body, out); }, [](const auto&) {}},
          s.op);
  }

  bool one(Stmt& s, KnownTerms& known, Block& out) {
    if (auto* x = std::get_if<If>(&s.op)) return guard(*x, known, out);
    if (auto* x = std::get_if<Run>(&s.op)) {
      known.forget(writes(insn(*x)));
      if (const Expr flag = decided_flag(*x)) known.add(flag);
    } else if (auto* x = std::get_if<Loop>(&s.op)) {
      loop(*x, known);
    } else if (auto* x = std::get_if<Scope>(&s.op)) {
      KnownTerms inner = known;
      inner.forget({x->iname});
      const bool left = sequence(x->body, inner);
      known.keep(inner);
      out.push_back(std::move(s));
      return left;
    } else if (auto* x = std::get_if<Launch>(&s.op)) {
      KnownTerms inner;
      const Loop* const around = std::exchange(loop_, nullptr);  // the host's
      Places rest = std::exchange(rest_, {});
      sequence(x->body, inner);
      loop_ = around, rest_ = std::move(rest);
      known.forget_all();
    } else if (std::holds_alternative<Leave>(s.op)) {
      out.push_back(std::move(s));
      return true;
    } else if (std::holds_alternative<Sync>(s.op) || std::holds_alternative<GroupCombine>(s.op)) {
      known.forget_all();  // others have written
    }
    out.push_back(std::move(s));
    return false;
  }

  bool guard(If& x, KnownTerms& known, Block& out) {
    Exprs open;
    for (const Expr& t : conjuncts(x.cond))
      if (known.holds(t) || holds_term(open, t))
        collect_reads(t, unasked_);
      else
        open.push_back(t);
    if (open.empty()) {
      const bool left = sequence(x.body, known);
      for (Stmt& s : enclosed(std::move(x.body))) append(out, std::move(s));
      return left;
    }
    x.cond = conjunction(open);
    if (const auto how = way_out(x.body)) x.body.push_back(Stmt{Leave{*how}});
    KnownTerms inner = known;
    for (const Expr& t : open) inner.add(t);
    if (sequence(x.body, inner))
      known.add(negation(x.cond));
    else
      known.keep(inner);
    append(out, Stmt{std::move(x)});
    return false;
  }

  void loop(Loop& x, KnownTerms& known) {
    Variables written;
    collect_writes(x.body, written);
    if (waits_within(x.body)) known.forget_all();
    KnownTerms inner = known;
    inner.forget(written);
    inner.forget({x.iname});
    Exprs open;
    for (const Expr& t : x.only_while ? conjuncts(x.only_while) : Exprs())
      if (inner.holds(t))
        collect_reads(t, unasked_);
      else
        open.push_back(t), inner.add(t);
    const bool plain = x.lanes == 0 && !x.matrix && x.iterations == Iterations::InTurn;
    const InameTag* tag = k_.tag(x.iname);
    x.only_while = open.empty() ? Expr() : conjunction(open);
    const bool in_order = plain && (!tag || run_of(tag->kind) == TagRun::InOrder);
    const Loop* const around = std::exchange(loop_, in_order ? &x : nullptr);
    Places rest = std::exchange(rest_, {});
    const bool went_on = std::exchange(goes_on_, false);
    sequence(x.body, inner);
    // Each iteration that ends leaves these as they are, so that only a break can end the loop.
    if (!goes_on_)
      std::erase_if(open, [&](const Expr& t) {
        if (!known.holds(t) || !inner.holds(t)) return false;
        collect_reads(t, unasked_);
        return true;
      });
    x.only_while = open.empty() ? Expr() : conjunction(open);
    loop_ = around, rest_ = std::move(rest), goes_on_ = went_on;
    known.forget(written);
  }

  /// The flag that the statement sets, as a condition that holds behind it.
  Expr decided_flag(const Run& r) const {
    const Instruction& i = insn(r);
    const auto* value = i.rhs && i.lhs.size() == 1 ? i.rhs.as<BoolLit>() : nullptr;
    if (!value || !i.lhs[0].as<Var>()) return {};
    return value->value ? i.lhs[0] : negation(i.lhs[0]);
  }

  /// How the loop around is left behind the block, whose last statement sets a flag: where all that
  /// would follow in the iteration is under its opposite, and perhaps every further iteration.
  std::optional<Leave::Way> way_out(const Block& block) {
    const Run* last = block.empty() || !loop_ ? nullptr : std::get_if<Run>(&block.back().op);
    const Expr flag = last ? decided_flag(*last) : Expr();
    if (!flag) return std::nullopt;
    const Expr open = negation(flag);
    bool any = false;
    for (const auto& [b, from] : rest_)
      for (std::size_t i = from; i < b->size(); ++i, any = true)
        if (!asks((*b)[i], open)) return std::nullopt;
    const Expr& whiles = loop_->only_while;
    if (whiles && holds_term(conjuncts(whiles), open)) return Leave::Way::Break;
    if (!any) return std::nullopt;
    goes_on_ = true;
    return Leave::Way::Continue;
  }

  /// The statement does nothing where the condition does not hold.
  static bool asks(const Stmt& s, const Expr& cond) {
    if (const auto* x = std::get_if<If>(&s.op)) return holds_term(conjuncts(x->cond), cond);
    if (const auto* x = std::get_if<Loop>(&s.op))
      return x->only_while && holds_term(conjuncts(x->only_while), cond);
    return std::holds_alternative<Declare>(s.op);
  }

  /// Puts the statement behind the others: into the `else` of the last one where it is under the
  /// opposite condition, which that one does not change; its own `else` then goes behind what runs
  /// where that condition holds.
  void append(Block& to, Stmt s) {
    If* const next = std::get_if<If>(&s.op);
    If* const last = to.empty() ? nullptr : std::get_if<If>(&to.back().op);
    if (!next || !last || ends_by_leaving(last->body) || waits_within(last->body) ||
        waits_within(next->body) || waits_within(next->otherwise) || !is_short(last->body) ||
        !is_short(last->otherwise))
      return to.push_back(std::move(s));
    Exprs rest;
    bool opposite = false;
    for (const Expr& t : conjuncts(next->cond))
      if (!negates(last->cond, t, integer_))
        rest.push_back(t);
      else
        opposite = true, collect_reads(t, unasked_);
    Variables reads, written;
    collect_reads(last->cond, reads);
    if (opposite) collect_writes(last->body, written), collect_writes(last->otherwise, written);
    if (!opposite || std::any_of(reads.begin(), reads.end(),
                                 [&](const std::string& n) { return written.contains(n); }))
      return to.push_back(std::move(s));
    if (!rest.empty() && !next->otherwise.empty()) return to.push_back(std::move(s));
    if (!rest.empty()) {
      next->cond = conjunction(rest);
      return append(last->otherwise, std::move(s));
    }
    Block held =
        last->body.empty() ? std::move(next->otherwise) : enclosed(std::move(next->otherwise));
    Block all = last->otherwise.empty() ? std::move(next->body) : enclosed(std::move(next->body));
    for (Stmt& each : held) append(last->body, std::move(each));
    for (Stmt& each : all) append(last->otherwise, std::move(each));
  }

  /// A longer branch is not looked through again for each statement that may follow it. The host
  /// has no `else`.
  static bool is_short(const Block& block) {
    std::size_t open = 100;
    const std::function<bool(const Block&)> fits = [&](const Block& b) {
      return std::all_of(b.begin(), b.end(), [&](const Stmt& s) {
        if (open == 0 || --open == 0 || std::holds_alternative<Launch>(s.op)) return false;
        if (const auto* x = std::get_if<If>(&s.op)) return fits(x->body) && fits(x->otherwise);
        if (const auto* x = std::get_if<Loop>(&s.op)) return fits(x->body);
        if (const auto* x = std::get_if<Scope>(&s.op)) return fits(x->body);
        return true;
      });
    };
    return fits(block);
  }

  const Kernel& k_;
  const AsksInteger& integer_;
  const Loop* loop_ = nullptr;  // the innermost one, where it can be left
  Places rest_;                 // what follows in it
  Variables unasked_;           // read by conditions that were dropped
  bool goes_on_ = false;        // some place in it begins the next iteration
};

}  // namespace

void join_branches(Block& block, const Kernel& k, const AsksInteger& integer, bool keep_flags) {
  KnownTerms known;
  Branches branches(k, integer);
  branches.sequence(block, known);
  if (!keep_flags) branches.drop_unread(block);
}

}  // namespace moonloop
