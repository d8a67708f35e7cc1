#include "transforms/separate_axis.h"

#include <algorithm>
#include <set>

#include "core/model/lookup.h"
#include "core/model/original_layout.h"
#include "core/order/commuting.h"
#include "core/order/reference.h"
#include "transforms/array_layout.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

class Separation {
 public:
  Separation(const Kernel& k, const std::string& name, std::size_t axis)
      : k_(without_rules_on(k, {name})), name_(name), axis_(axis), layout_(layout_of(k, name)) {
    check();
    for (std::int64_t i = 0; i < count_; ++i)
      names_.push_back(k_.fresh_name(name + "_s" + std::to_string(i)));
    find_used();
  }

  Kernel run() const {
    Kernel out = k_;
    out.instructions.clear();
    std::map<std::string, std::vector<std::string>> copies;  // by id of the original
    for (const InsnPtr& i : k_.instructions) separate(i, out, copies);
    if (!copies.empty())
      for (InsnPtr& i : out.instructions) follow(i, copies);
    declare(out);
    return proved(rebase(std::move(out)));
  }

  std::vector<std::string> parts() const {
    std::vector<std::string> out;
    for (const std::int64_t i : used_) out.push_back(name_of(i));
    return out;
  }

 private:
  void check() {
    const auto n = as_int(layout_.shape[axis_]);
    if (!n || *n < 1 || *n > kMostParts)
      refuse("bad-axis-tag", k_.at,
             "axis {} of `{}` has length {}; `sep` takes a constant of at most {}", axis_, name_,
             to_string(layout_.shape[axis_]), kMostParts);
    count_ = *n;
    const Temporary* t = k_.find_temporary(name_);
    const Argument* a = k_.find_arg(name_);
    if (t && t->initializer)
      refuse("unsupported", k_.at, "`{}` has initial values; its axes are not separated", name_);
    if (t ? t->strides.has_value() : a->strides || a->offset)
      refuse("unsupported", k_.at, "`{}` has strides or an offset; its axes are not separated",
             name_);
  }

  const std::string& name_of(std::int64_t part) const {
    return names_[static_cast<std::size_t>(part)];
  }

  /// The parts that exist: all, but for a temporary only those that are written. A kernel reads
  /// only what has been written, so a varying subscript never takes another value.
  void find_used() {
    std::set<std::int64_t> written_at;
    bool all = !k_.find_temporary(name_);
    for (const InsnPtr& i : k_.instructions)
      for (const Expr& l : i->lhs)
        walk(l, [&](const Expr& x) {
          const Load* at = written(x);
          const auto n = at && !at->linear ? as_int(at->index[axis_]) : std::nullopt;
          if (n && *n >= 0 && *n < count_)
            written_at.insert(*n);
          else
            all = all || at || (x.as<Var>() && x.as<Var>()->name == name_);
          return !x.as<Load>();
        });
    all = all || written_at.empty();
    for (std::int64_t i = 0; i < count_; ++i)
      if (all || written_at.contains(i)) used_.push_back(i);
  }

  /// The statement, or one for each part where it writes at a subscript that varies.
  void separate(const InsnPtr& i, Kernel& out,
                std::map<std::string, std::vector<std::string>>& copies) const {
    Expr varies;  // the subscript that is written
    for (const Expr& l : i->lhs)
      walk(l, [&](const Expr& x) {
        const auto* at = written(x);
        if (!at || as_int(at->index[axis_])) return true;
        if (varies && !equal(varies, at->index[axis_]))
          refuse("unsupported", i->at, "`{}` writes `{}` at `{}` and at `{}`", i->id, name_,
                 to_string(varies), to_string(at->index[axis_]));
        varies = at->index[axis_];
        return true;
      });
    if (!varies) {
      out.instructions.push_back(with_parts(i, {}, 0));
      return;
    }
    for (std::int64_t part = 0; part < count_; ++part) {
      InsnPtr copy = edit(with_parts(i, varies, part), [&](Instruction& c) {
        c.id = part == 0 ? i->id : fresh_id(out, i->id + "_s" + std::to_string(part));
        c.predicates.push_back(Expr(Compare{CompareOp::Eq, in(*i, varies, {}, 0), lit(part)}));
      });
      copies[i->id].push_back(copy->id);
      out.instructions.push_back(std::move(copy));
    }
  }

  /// An id that neither kernel has.
  std::string fresh_id(const Kernel& out, const std::string& base) const {
    std::string id = out.fresh_id(base);
    for (int n = 0; k_.find_insn(id); ++n) id = out.fresh_id(fmt::format("{}_{}", base, n));
    return id;
  }

  const Load* written(const Expr& e) const {
    const auto* l = e.as<Load>();
    return l && l->array == name_ ? l : nullptr;
  }

  InsnPtr with_parts(const InsnPtr& i, const Expr& known, std::int64_t part) const {
    return edit(i, [&](Instruction& out) {
      for (Expr& e : out.lhs) e = in(*i, e, known, part);
      if (out.rhs) out.rhs = in(*i, out.rhs, known, part);
      for (Expr& e : out.predicates) e = in(*i, e, {}, 0);
    });
  }

  /// `e` with the parts; where the subscript is `known`, with the one of that number.
  Expr in(const Instruction& insn, const Expr& e, const Expr& known, std::int64_t part) const {
    return rewrite(e, [&](const Expr& x) {
      const auto* call = x.as<Call>();
      const auto* v = x.as<Var>();
      const auto* l = x.as<Load>();
      if ((v && v->name == name_) || (l && l->array == name_ && l->linear) || indexes(call))
        refuse("unsupported", x.at() ? x.at() : insn.at,
               "instruction `{}` uses `{}` as a whole, which is to become several arrays", insn.id,
               name_);
      if (const auto* f = x.as<Field>()) return field(f->base, *f, x);
      if (!l || l->array != name_) return x;
      const Expr at = l->index[axis_];
      Exprs rest = l->index;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis_));
      const auto element = [&](std::int64_t i) { return load(name_of(i), rest, x.at()); };
      if (known && equal(at, known)) return element(part);
      if (const auto n = as_int(at)) {
        if (std::find(used_.begin(), used_.end(), *n) != used_.end()) return element(*n);
        if (*n >= 0 && *n < count_)
          refuse("undefined-read", x.at() ? x.at() : insn.at,
                 "`{}` reads element {} of `{}` along axis {}, which nothing writes", insn.id, *n,
                 name_, axis_);
        refuse("out-of-bounds", x.at() ? x.at() : insn.at, "`{}` has no element {} along axis {}",
               name_, *n, axis_);
      }
      Expr out = element(used_.back());
      for (auto i = used_.rbegin() + 1; i != used_.rend(); ++i)
        out = Expr(Select{Expr(Compare{CompareOp::Eq, at, lit(*i)}), element(*i), out}, x.at());
      return out;
    });
  }

  /// The field of a choice of records is a choice of fields, which can be places.
  static Expr field(const Expr& base, const Field& f, const Expr& whole) {
    const auto* s = base.as<Select>();
    if (!s) return equal(base, f.base) ? whole : Expr(Field{base, f.name}, whole.at());
    return Expr(Select{s->cond, field(s->yes, f, whole), field(s->no, f, whole)}, whole.at());
  }

  /// `indexof(name_s0[...])`: its argument has been rewritten already.
  bool indexes(const Call* c) const {
    if (!c || c->name != "indexof") return false;
    bool found = false;
    walk(c->args[0], [&](const Expr& x) {
      const auto* l = x.as<Load>();
      found |= l && std::find(names_.begin(), names_.end(), l->array) != names_.end();
      return !found;
    });
    return found;
  }

  /// An instruction that waits for a statement waits for all its copies.
  static void follow(InsnPtr& i, const std::map<std::string, std::vector<std::string>>& copies) {
    Instruction out = *i;
    for (const auto& entry : copies) {
      const std::string& id = entry.first;
      const std::vector<std::string>& all = entry.second;
      const bool waits =
          std::find(out.depends_on.begin(), out.depends_on.end(), id) != out.depends_on.end();
      const auto added = [&](const std::string& copy) { return copy != id; };
      if (waits) std::copy_if(all.begin(), all.end(), std::back_inserter(out.depends_on), added);
      for (std::size_t n = 0, end = out.no_sync.size(); n < end; ++n)
        if (out.no_sync[n].id == id)
          for (const std::string& copy : all)
            if (copy != id) out.no_sync.push_back({copy, out.no_sync[n].scope});
    }
    i = std::make_shared<const Instruction>(std::move(out));
  }

  void declare(Kernel& out) const {
    using Kind = Claim::Kind;
    for (const Kind kind : {Kind::Injective, Kind::Disjoint, Kind::InBounds, Kind::Unsafe})
      for (const std::string& part : parts()) claim_also(out, kind, name_, part);
    Exprs shape = layout_.shape;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis_));
    if (const Temporary* t = k_.find_temporary(name_)) {
      Temporary part = *t;
      part.type = layout_.type;
      part.shape = shape;
      out.temporaries.erase(name_);
      for (const std::string& n : parts()) {
        part.name = n;
        out.temporaries.emplace(n, part);
      }
      return;
    }
    std::vector<Argument> args;
    for (const Argument& a : k_.args) {
      if (a.name != name_) {
        args.push_back(a);
        continue;
      }
      const OriginalLayout whole = original_layout_of(a, layout_.shape.size());
      for (std::size_t i = 0; i < names_.size(); ++i) {
        Argument part = a;
        part.name = names_[i];
        part.type = layout_.type;
        part.shape = shape;
        part.original_layout = std::make_shared<const OriginalLayout>(
            with_axis(whole, axis_, lit(static_cast<std::int64_t>(i)), {}));
        args.push_back(std::move(part));
      }
    }
    out.args = std::move(args);
  }

  Kernel k_;
  std::string name_;
  std::size_t axis_;
  ArrayLayout layout_;
  std::int64_t count_ = 0;
  std::vector<std::string> names_;  // by subscript
  std::vector<std::int64_t> used_;  // the subscripts that get an array
};

}  // namespace

Kernel separate_axis(const Kernel& k, const std::string& name, std::size_t axis,
                     std::vector<std::string>& parts) {
  const Separation s(k, name, axis);
  parts = s.parts();
  return s.run();
}

}  // namespace moonloop
