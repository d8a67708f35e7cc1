#pragma once
#include <algorithm>

#include "frontends/fortran/flang_arguments.h"
#include "frontends/fortran/flang_records.h"
#include "frontends/fortran/memory_flags.h"

namespace moonloop::fortran {

/// Records that are not a module's, in a statement that stays Fortran: the routine of the interface
/// puts one together of the components that the statement uses, which are its arguments.
class RecordArguments : public OutputArguments {
 public:
  using OutputArguments::OutputArguments;

 protected:
  using Path = std::vector<const sem::Symbol*>;  // of components

  /// Whether the statement can have a variable of this record's name with what it uses of it.
  bool can_be_put_together(const sem::Symbol& s) const {
    const auto type = *ev::DynamicType::From(s);
    if (type.IsUnlimitedPolymorphic() || s.attrs().test(sem::Attr::OPTIONAL) ||
        type.GetDerivedTypeSpec().typeSymbol().GetUltimate().attrs().test(sem::Attr::ABSTRACT) ||
        sem::IsAllocatableOrPointer(s) || sem::IsAssumedSizeArray(s) ||
        !type.GetDerivedTypeSpec().parameters().empty() ||
        holder_of(type.GetDerivedTypeSpec().typeSymbol().GetUltimate()).empty())
      return false;
    const bool whole = is_used_as_whole(s);
    if (whole && (type.IsPolymorphic() || is_chained(type.GetDerivedTypeSpec()))) return false;
    return !whole || !is_changed(s) || kept_.contains(&s) ||
           !sem::FindAllocatableOrPointerDirectComponent(type.GetDerivedTypeSpec());
  }
  /// A variable of the record's name, which gets the components before the statement and gives them
  /// back after it. Returns its declaration.
  std::string record(const std::string& local, const sem::Symbol& symbol) {
    const sem::Symbol& s = symbol.GetUltimate();
    const sem::DerivedTypeSpec& type = ev::DynamicType::From(s)->GetDerivedTypeSpec();
    Part whole{&s, {}, var(variable_name(symbol), at_), local};
    if (s.Rank() > 0) whole.arrays.push_back({local.size(), s.Rank()});
    shape_of_record_.clear();
    parts(whole, type);
    if (s.Rank() > 0 && shape_of_record_.empty())
      fail(fmt::format("the array `{}` of records without axes of their components in `{}`", local,
                       what_));
    return fmt::format("type({}), target :: {}{}\n  ",
                       type.typeSymbol().GetUltimate().name().ToString(), local, shape_of_record_);
  }

  /// An argument of the routine that it does not change.
  static bool is_input(const sem::Symbol& s) { return s.attrs().test(sem::Attr::INTENT_IN); }
  bool is_changed(const sem::Symbol& s) const { return assigned_.count(&s) && !is_input(s); }

  std::set<const sem::Symbol*> assigned_;
  std::map<const sem::Symbol*, std::set<Path>> records_;  // what the statement uses of them
  std::set<const sem::Symbol*> kept_;                     // those that a call gives no other memory
  std::map<std::string, std::string> inner_;  // types of the variables of `forall`, no arguments
  std::string before_, after_;                // the statement

 private:
  bool is_used_as_whole(const sem::Symbol& s) const {
    const auto it = records_.find(&s);
    return it == records_.end() || it->second.contains({});
  }

  /// Whether the statement uses a component, or a part of it, or something that it is a part of.
  bool is_used(const sem::Symbol& base, const Path& path) const {
    if (is_used_as_whole(base)) return true;
    const auto& all = records_.at(&base);
    return std::any_of(all.begin(), all.end(), [&](const Path& used) {
      const auto [p, u] = std::mismatch(path.begin(), path.end(), used.begin(), used.end());
      return p == path.end() || u == used.end();
    });
  }

  /// A record, or a component: its name as a variable of the kernel, its text in Fortran, and the
  /// arrays of records around it, which have subscripts there.
  struct Part {
    const sem::Symbol* base;
    Path path;
    Expr variable;
    std::string text;
    struct Array {
      std::size_t end;  // of its name in the text
      int axes;
    };
    std::vector<Array> arrays = {};  // outer ones first
    int around() const {
      int out = 0;
      for (const Array& a : arrays) out += a.axes;
      return out;
    }
  };

  void parts(const Part& whole, const sem::DerivedTypeSpec& type) {
    for (const sem::Symbol* c : components_of(type, at_)) {
      Part p = whole;
      p.path.push_back(&c->GetUltimate());
      if (leads_back(*c) || !is_used(*whole.base, p.path)) continue;
      p.variable = var(whole.variable.as<Var>()->name + "_" + c->name().ToString(), at_);
      p.text += "%" + c->name().ToString();
      const auto t = ev::DynamicType::From(*c);
      if (!t) continue;
      if (t->category() == TypeCategory::Derived) {
        if (c->Rank() > 0) p.arrays.push_back({p.text.size(), c->Rank()});
        parts(p, type_of_record(*t, at_));
      } else {
        part(p, *c, *t);
      }
    }
  }

  /// An argument that is one component, of all records of an array.
  void part(const Part& p, const sem::Symbol& c, const ev::DynamicType& t) {
    const std::string type =
        t.category() == TypeCategory::Logical ? fmt::format("logical({})", t.kind()) : type_of(t);
    const bool text = is_text(c), memory = sem::IsAllocatableOrPointer(c);
    const int around = p.around();
    const std::string shape = shape_of(p.variable, c.Rank() + around, text, Bounds::Source);
    const bool kept = t.category() == TypeCategory::Logical &&
                      (sem::IsDummy(*p.base) || sem::IsSaved(*p.base));  // as an integer
    const Expr value = kept ? Expr(Compare{CompareOp::Ne, p.variable, lit(0)}, at_) : p.variable;
    const std::string name = add(type, value, shape);
    const std::size_t number = arguments_.size() - 1;
    if (p.base->Rank() > 0 && shape_of_record_.empty()) {
      std::string bounds;
      const int before = c.Rank() + around - p.base->Rank();
      for (int axis = 1; axis <= p.base->Rank(); ++axis)
        bounds += fmt::format("{0}lbound({1}, {2}):ubound({1}, {2})", axis > 1 ? ", " : "", name,
                              before + axis);
      shape_of_record_ = "(" + bounds + ")";
    }
    if (is_changed(*p.base)) may_change(number);
    if (memory) return part_with_memory(p, c, name, number);
    const auto [place, argument] = places(p, c, name);
    before_ += loops(p, c, name, place + " = " + argument) + "\n  ";
    if (is_changed(*p.base)) after_ = "\n  " + loops(p, c, name, argument + " = " + place) + after_;
  }

  /// Whether the records of arrays are taken one by one.
  static bool one_by_one(const Part& p, const sem::Symbol& c) {
    return p.arrays.size() > 1 || (!p.arrays.empty() && c.Rank() > 0);
  }

  /// `g%q` and `a4`, or those of each record of an array.
  std::pair<std::string, std::string> places(const Part& p, const sem::Symbol& c,
                                             const std::string& name) {
    if (!one_by_one(p, c)) return {p.text, name};
    std::string text = p.text, own;
    for (int axis = 0; axis < c.Rank(); ++axis) own += ":, ";
    int n = 0;
    for (std::size_t k = p.arrays.size(); k-- > 0;) {  // the innermost ones are the first axes
      std::string index;
      for (int axis = 0; axis < p.arrays[k].axes; ++axis) {
        const std::string i = "moonloop_i" + std::to_string(++n);
        index += (axis > 0 ? ", " : "") + i;
        inner_.emplace(i, "integer");
      }
      own += index + (k > 0 ? ", " : "");
      text.insert(p.arrays[k].end, "(" + index + ")");
    }
    return {text, name + "(" + own + ")"};
  }
  static std::string loops(const Part& p, const sem::Symbol& c, const std::string& name,
                           std::string statement) {
    if (!one_by_one(p, c)) return statement;
    std::string ranges;
    for (int axis = 1; axis <= p.around(); ++axis)
      ranges += fmt::format("{0}moonloop_i{1} = lbound({2}, {3}):ubound({2}, {3})",
                            axis > 1 ? ", " : "", axis, name, c.Rank() + axis);
    return "forall (" + ranges + ") " + statement;
  }

  void part_with_memory(const Part& p, const sem::Symbol& c, const std::string& name,
                        std::size_t number) {
    const Expr there(Compare{CompareOp::Gt, var(kMemory + p.variable.as<Var>()->name, at_), lit(0)},
                     at_);
    const std::string flag = add("logical(4)", there, "");
    std::string bounds;
    for (int axis = 1; axis <= c.Rank(); ++axis)
      bounds += fmt::format("{0}lbound({1}, {2}){3}", axis > 1 ? ", " : "", name, axis,
                            sem::IsPointer(c) ? ":" : fmt::format(":ubound({}, {})", name, axis));
    if (!bounds.empty()) bounds = "(" + bounds + ")";
    if (sem::IsPointer(c)) {
      std::string& declaration = output_.declarations[number];
      declaration.insert(declaration.find(" :: "), ", target");
      before_ += fmt::format("if ({}) {}{} => {}\n  ", flag, p.text, bounds, name);
      return;
    }
    before_ += fmt::format("if ({}) allocate ({}{}, source={})\n  ", flag, p.text, bounds, name);
    if (is_changed(*p.base))
      after_ = fmt::format("\n  if ({}) {} = {}", flag, name, p.text) + after_;
  }

  std::string shape_of_record_;
};

}  // namespace moonloop::fortran
