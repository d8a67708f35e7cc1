#include "transforms/last_update.h"

#include <algorithm>

#include "core/infer/infer.h"
#include "core/order/reference.h"
#include "transforms/remove_unused_inames.h"

namespace moonloop {
namespace {

class HoldingLast {
 public:
  HoldingLast(const Kernel& before, Kernel k, const std::string& array, const BufferOptions& b)
      : before_(before),
        typed_(infer_types(expand_all_rules(before))),
        k_(std::move(k)),
        array_(array),
        b_(b) {}

  Kernel run() {
    find_statements();
    find_axes();
    std::vector<InsnPtr> list;
    for (const InsnPtr& insn : k_.instructions) {
      if (insn == init_)
        begin(list);
      else if (insn == store_)
        list.push_back(stored(*store_, store_->id, {}));
      else if (is_update(*insn))
        update(*insn, list);
      else
        list.push_back(insn);
    }
    k_.instructions = std::move(list);
    k_.temporaries.at(b_.temporary_name).shape = Exprs{};
    if (!former_.empty()) k_ = remove_unused_inames(k_, former_, Proof::LeftOut);
    k_ = rebase(std::move(k_));
    if (b_.proof == Proof::Made) check_legal(k_);
    return std::move(k_);
  }

 private:
  struct Axis {
    Expr same;             // the subscript in all updates, where it is one
    std::string at, next;  // else the variables for it: of the element held, of the next one
  };

  bool is_new(const Instruction& insn) const { return before_.find_insn(insn.id) == nullptr; }
  bool is_update(const Instruction& insn) const {
    return writes(insn).count(b_.temporary_name) > 0 && !is_new(insn);
  }
  static Exprs subscripts(const Expr& place) {
    const auto* l = place.as<Load>();
    return l ? l->index : Exprs();
  }
  /// Those of an update in the array.
  Exprs place_of(const std::string& id) const { return subscripts(before_.find_insn(id)->lhs[0]); }

  void find_statements() {
    for (const InsnPtr& insn : k_.instructions) {
      if (!is_new(*insn)) continue;
      (writes(*insn).count(array_) ? store_ : init_) = insn;
    }
    if (!store_ || !init_) throw InternalError("a buffer of updates without init or store");
    for (const InsnPtr& insn : {init_, store_}) {
      std::set<std::string>& stay = insn == init_ ? before_init_ : before_store_;
      for (const std::string& i : insn->inames)
        before_.has_iname(i) ? void(stay.insert(i)) : former_.push_back(i);
    }
  }

  void find_axes() {
    for (const InsnPtr& insn : k_.instructions) {
      if (!is_update(*insn)) continue;
      const Exprs index = place_of(insn->id);
      const Exprs typed = subscripts(typed_.find_insn(insn->id)->lhs[0]);
      if (axes_.empty())
        for (const Expr& e : index) axes_.push_back({outside(e) ? e : Expr(), "", ""});
      for (std::size_t d = 0; d < index.size(); ++d) {
        if (axes_[d].same && equal(axes_[d].same, index[d])) continue;
        axes_[d].same = Expr();
        types_.resize(index.size(), Type(Scalar::I32));
        if (size_of(type_of(typed_, typed[d]).scalar) > 4) types_[d] = Type(Scalar::I64);
      }
    }
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      if (axes_[d].same) continue;
      const std::string axis = axes_.size() == 1 ? "" : fmt::format("_{}", d);
      axes_[d].at = variable(array_ + "_at" + axis, types_[d]);
      axes_[d].next = variable(array_ + "_next" + axis, types_[d]);
    }
  }

  /// Whether the loops around the buffer determine it.
  bool outside(const Expr& e) const {
    bool yes = true;
    walk(e, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      if (v && (before_.has_iname(v->name) ? !before_store_.count(v->name)
                                           : before_.find_temporary(v->name) != nullptr))
        yes = false;
      if (x.as<Load>() || x.as<Call>()) yes = false;
      return yes;
    });
    return yes;
  }

  std::string variable(const std::string& base, const Type& type) {
    Temporary t;
    t.name = k_.fresh_name(base);
    t.type = type;
    t.shape = Exprs{};
    t.space = k_.temporaries.at(b_.temporary_name).space;
    t.at = store_->at;
    k_.temporaries.emplace(t.name, t);
    return t.name;
  }

  std::string fresh(const std::string& base) {
    std::string id = k_.fresh_id(base);
    for (int n = 0; !ids_.insert(id).second; ++n) id = k_.fresh_id(fmt::format("{}_{}", base, n));
    return id;
  }

  InsnPtr assignment(const Instruction& like, const std::string& id, const Expr& to,
                     const Expr& value, const Exprs& conditions = {}) {
    Instruction out;
    out.id = fresh(id);
    out.lhs = {to};
    out.rhs = value;
    out.inames = like.inames;
    out.predicates = like.predicates;
    out.predicates.insert(out.predicates.end(), conditions.begin(), conditions.end());
    out.depends_on = like.depends_on;
    out.no_sync = like.no_sync;
    out.at = like.at;
    return std::make_shared<const Instruction>(std::move(out));
  }

  void begin(std::vector<InsnPtr>& list) {
    const InsnPtr around = edit(init_, [&](Instruction& i) {
      i.inames = before_init_;
      i.predicates.clear();
    });
    for (const Axis& a : axes_)
      if (!a.same) list.push_back(assignment(*around, "init_" + a.at, var(a.at), lit(0)));
    list.push_back(edit(around, [&](Instruction& i) { i.lhs = {var(b_.temporary_name)}; }));
  }

  /// Adds the buffer to its element, where it is no longer neutral and `conditions` hold.
  InsnPtr stored(const Instruction& like, const std::string& id, const Exprs& conditions) {
    Exprs index;
    for (const Axis& a : axes_) index.push_back(a.same ? a.same : var(a.at));
    const Expr own = var(b_.temporary_name), to = index.empty() ? var(array_) : load(array_, index);
    Exprs all = conditions;
    all.push_back(Expr(Compare{CompareOp::Ne, own, b_.init_expression}));
    Instruction around = like;
    if (&like == store_.get()) {
      around.inames = before_store_;
      around.predicates.clear();
    }
    const InsnPtr out = assignment(
        around, id, to, substitute(b_.store_expression, {{"base", to}, {"buffer", own}}), all);
    return edit(out, [&](Instruction& i) {
      if (&like == store_.get()) i.id = id;
      i.atomic = store_->atomic;
    });
  }

  void update(const Instruction& insn, std::vector<InsnPtr>& list) {
    const Exprs index = place_of(insn.id);
    Exprs differs;
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      const Axis& a = axes_[d];
      if (a.same) continue;
      list.push_back(assignment(insn, insn.id + "_next", var(a.next), index[d]));
      differs.push_back(Expr(Compare{CompareOp::Ne, var(a.at), var(a.next)}));
    }
    if (!differs.empty()) {
      const Expr other = differs.size() == 1 ? differs[0] : Expr(Nary{NaryOp::Or, differs});
      list.push_back(stored(insn, insn.id + "_store", {other}));
      list.push_back(assignment(insn, insn.id + "_begin", var(b_.temporary_name),
                                b_.init_expression, {other}));
      for (const Axis& a : axes_)
        if (!a.same) list.push_back(assignment(insn, insn.id + "_at", var(a.at), var(a.next)));
    }
    const auto held = [&](const Expr& e) {
      return rewrite(e, [&](const Expr& x) {
        const auto* l = x.as<Load>();
        return l && l->array == b_.temporary_name ? var(b_.temporary_name, x.at()) : x;
      });
    };
    Instruction out = insn;
    out.lhs = {var(b_.temporary_name, insn.lhs[0].at())};
    out.rhs = held(insn.rhs);
    out.atomic = Atomicity::None;
    out.combined = false;
    list.push_back(std::make_shared<const Instruction>(std::move(out)));
  }

  const Kernel& before_;
  const Kernel typed_;
  Kernel k_;
  const std::string& array_;
  const BufferOptions& b_;
  InsnPtr init_, store_;
  std::set<std::string> before_init_, before_store_;  // the inames of these that are not new
  std::vector<std::string> former_;                   // those that were new
  std::vector<Axis> axes_;
  std::vector<Type> types_;  // of the axes' variables
  std::set<std::string> ids_;
};

}  // namespace

Kernel holding_last(const Kernel& before, Kernel k, const std::string& array,
                    const BufferOptions& b) {
  return HoldingLast(before, std::move(k), array, b).run();
}

}  // namespace moonloop
