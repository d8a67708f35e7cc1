#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <unordered_set>

#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/domain.h"
#include "core/model/external.h"

namespace moonloop {
namespace {

/// One assignee whose variable has no type yet.
struct Writer {
  const Instruction* insn;
  std::size_t position;
  int variable;
};

class TypeInference {
 public:
  TypeInference(const Kernel& k, const Kernel& expanded) : k_(k), flat_(expanded) {}

  VariableTypes run() {
    collect_names();
    collect_writers();
    for (const std::vector<int>& group : components()) settle(group);
    finish();
    return std::move(vars_);
  }

 private:
  void collect_names() {
    for (const Argument& a : k_.args) vars_[a.name] = a.type;
    for (const auto& [name, t] : k_.temporaries) {
      vars_[name] = t.type;
      if (t.type || !t.initializer) continue;
      std::vector<Typed> literals;
      for (const Expr& e : *t.initializer)
        if (const auto lit = Typer(k_).type(e)) literals.push_back(*lit);
      if (!literals.empty()) vars_[name] = combine(literals, {}).type;
    }
    const auto index = [&](const std::string& name) {
      auto [it, fresh] = vars_.emplace(name, k_.index_type);
      if (fresh || it->second) return;
      if (const Argument* a = k_.find_arg(name); a && !a->is_array) it->second = k_.index_type;
    };
    for (const Domain& d : k_.domains) {
      for (const std::string& n : d.inames()) index(n);
      for (const std::string& n : param_names(d.set)) index(n);
    }
    if (k_.assumptions)
      for (const std::string& n : param_names(k_.assumptions)) index(n);
    // Untyped scalar arguments in shapes and subscripts count elements.
    const auto counts = [&](const Expr& e) {
      if (!e) return;
      std::set<std::string> names;
      collect_vars(e, names);
      for (const std::string& n : names)
        if (vars_.count(n)) index(n);
    };
    const auto all = [&](const std::optional<Exprs>& es) {
      if (es) std::for_each(es->begin(), es->end(), counts);
    };
    for (const Argument& a : k_.args) all(a.shape), all(a.strides), counts(a.offset);
    for (const auto& [name, t] : k_.temporaries) all(t.shape), all(t.strides);
    const bool open = std::any_of(k_.args.begin(), k_.args.end(), [&](const Argument& a) {
      return !a.is_array && !vars_.at(a.name);
    });
    if (!open) return;
    const auto in_subscripts = [&](const Expr& e) {
      walk(e, [&](const Expr& x) {
        if (const auto* l = x.as<Load>()) std::for_each(l->index.begin(), l->index.end(), counts);
        return true;
      });
    };
    for (const InsnPtr& i : flat_.instructions) {
      for (const Expr& l : i->lhs) in_subscripts(l);
      if (i->rhs) in_subscripts(i->rhs);
      for (const Expr& p : i->predicates) in_subscripts(p);
    }
  }

  void collect_writers() {
    for (const InsnPtr& i : flat_.instructions)
      for (std::size_t p = 0; p < i->lhs.size(); ++p) {
        const std::string& name = written_name(i->lhs[p]);
        const auto it = vars_.find(name);
        if (it == vars_.end())
          fail_for(name, "unknown-name", i->lhs[p].at() ? i->lhs[p].at() : i->at,
                   "`{}` is assigned but is not an argument or temporary", name);
        if (it->second) continue;
        const auto [v, fresh] = number_.emplace(name, static_cast<int>(names_.size()));
        if (fresh) names_.push_back(name);
        writers_.push_back({i.get(), p, v->second});
      }
    const std::size_t n = names_.size();
    written_by_.resize(n), read_by_.resize(n), needs_.resize(n), found_.resize(n);
    std::vector<int> count(n, 0);
    for (const Writer& w : writers_) ++count[static_cast<std::size_t>(w.variable)];
    for (std::size_t w = 0; w < writers_.size(); ++w) {
      const Writer& writer = writers_[w];
      const auto v = static_cast<std::size_t>(writer.variable);
      std::vector<int> open;  // variables that are read and have no type yet
      const auto read = [&](const std::string& name) {
        const auto it = number_.find(name);
        if (it == number_.end() || found_[static_cast<std::size_t>(it->second)]) return;
        if (std::find(open.begin(), open.end(), it->second) == open.end())
          open.push_back(it->second);
      };
      if (writer.insn->rhs)
        walk(writer.insn->rhs, [&](const Expr& x) {
          if (const auto* name = x.as<Var>()) read(name->name);
          if (const auto* load = x.as<Load>()) read(load->array);
          return true;
        });
      // Mostly a variable is written after what it needs, and is settled at once.
      if (open.empty() && count[v] == 1 && (found_[v] = contribution(writer))) {
        vars_[names_[v]] = found_[v]->type;
        continue;
      }
      written_by_[v].push_back(static_cast<int>(w));
      for (const int r : open) read_by_[static_cast<std::size_t>(r)].push_back(static_cast<int>(w));
      needs_[v].insert(needs_[v].end(), open.begin(), open.end());
    }
  }

  /// Variables that need each other's types, in an order where needed ones come first (Tarjan's
  /// algorithm, with a stack of its own).
  std::vector<std::vector<int>> components() const {
    const int n = static_cast<int>(names_.size());
    std::vector<std::vector<int>> out;
    std::vector<int> index(n, -1), low(n, 0), stack;
    std::vector<bool> on_stack(n, false);
    std::vector<std::pair<int, std::size_t>> work;
    int next = 0;
    for (int root = 0; root < n; ++root) {
      if (index[root] >= 0) continue;
      work.emplace_back(root, 0);
      while (!work.empty()) {
        auto& [v, child] = work.back();
        if (child == 0) {
          index[v] = low[v] = next++;
          stack.push_back(v);
          on_stack[v] = true;
        }
        if (child < needs_[v].size()) {
          const int w = needs_[v][child++];
          if (index[w] < 0) {
            work.emplace_back(w, 0);
          } else if (on_stack[w]) {
            low[v] = std::min(low[v], index[w]);
          }
          continue;
        }
        const int done = v;
        if (low[done] == index[done]) {
          out.emplace_back();
          for (int w = -1; w != done;) {
            w = stack.back();
            stack.pop_back();
            on_stack[w] = false;
            out.back().push_back(w);
          }
        }
        work.pop_back();
        if (!work.empty()) low[work.back().first] = std::min(low[work.back().first], low[done]);
      }
    }
    return out;
  }

  /// The type that a writer gives its variable; nothing while it is not known.
  std::optional<Typed> contribution(const Writer& w) const {
    const Instruction& i = *w.insn;
    if (!i.rhs) return std::nullopt;
    if (const Call* c = external_call(flat_, i)) {
      const auto& gives = flat_.externals.at(c->name);
      if (!gives || w.position > 0) return std::nullopt;
      return Typed{Type(*gives), Typed::Weak::No, {}, true};
    }
    if (i.lhs[w.position].as<Field>()) return std::nullopt;
    const auto reduced = [&](ReduceOp op, const Expr& arg) -> std::optional<Typed> {
      auto t = typer_.type(arg);
      if (t) t = Typed{reduced_type(op, w.position, t->type), Typed::Weak::No, {}, true};
      return t;
    };
    const bool update = i.role == ReductionRole::Update;
    if (i.lhs.size() == 1) return update ? reduced(i.reduce_op, i.rhs) : typer_.type(i.rhs);
    const Expr value = tuple_part(i, w.position);
    if (const auto* r = i.rhs.as<Reduce>()) return reduced(r->op, value);
    return update ? reduced(i.reduce_op, value) : typer_.type(value);
  }

 public:
  /// The part of an assignment's right side for the n-th of several assignees.
  static Expr tuple_part(const Instruction& i, std::size_t n) {
    const Exprs* parts = nullptr;
    if (const auto* r = i.rhs.as<Reduce>(); r && arity(r->op) == 2) parts = &r->args;
    if (const auto* c = i.rhs.as<Call>()) {
      if (c->name == "make_tuple") {
        parts = &c->args;
      } else if (!find_function(c->name)) {
        fail("unknown-function", i.rhs.at(), "no function or rule `{}`{}", c->name,
             did_you_mean(c->name, function_names()));
      }
    }
    if (!parts || parts->size() != i.lhs.size())
      fail("wrong-value-count", i.rhs.at() ? i.rhs.at() : i.at,
           "`{}` assigns {} variables, but its right side gives {} value{}", i.id, i.lhs.size(),
           parts ? parts->size() : 1, parts && parts->size() != 1 ? "s" : "");
    return (*parts)[n];
  }

 private:
  void settle(const std::vector<int>& group) {
    std::deque<int> work;
    std::unordered_set<int> queued, members(group.begin(), group.end());
    const auto enqueue = [&](int w) {
      if (members.count(writers_[w].variable) && queued.insert(w).second) work.push_back(w);
    };
    for (auto v = group.rbegin(); v != group.rend(); ++v)
      for (int w : written_by_[*v]) enqueue(w);
    while (!work.empty()) {
      const int w = work.front();
      work.pop_front();
      queued.erase(w);
      const int v = writers_[w].variable;
      const auto t = contribution(writers_[w]);
      if (!t) continue;
      std::optional<Typed>& known = found_[v];
      const Typed joined = known ? join(writers_[w], *known, *t) : *t;
      if (known && known->type == joined.type && known->weak == joined.weak) continue;
      known = joined;
      vars_[names_[v]] = joined.type;
      for (int r : read_by_[v]) enqueue(r);
    }
  }

  Typed join(const Writer& w, const Typed& a, const Typed& b) const {
    const bool sized = a.weak == Typed::Weak::No && b.weak == Typed::Weak::No;
    if (a.type == b.type && (sized || a.weak == b.weak)) return a;
    if (a.type.is_record() || b.type.is_record())
      fail("type-mismatch", w.insn->at, "`{}` would be both {} and {}", names_[w.variable],
           a.type.str(), b.type.str());
    return combine(std::array{a, b}, {});
  }

  void finish() const {
    std::vector<std::string> open;
    std::vector<Span> spans;
    // Variables that are only read are the cause; those computed from them follow.
    for (const bool computed : {false, true}) {
      const auto see = [&](const std::string& name, const Span& where) {
        if (vars_.at(name) || (number_.count(name) > 0) != computed) return;
        open.push_back(name);
        spans.push_back(where);
      };
      for (const Argument& a : k_.args) see(a.name, a.at ? a.at : k_.at);
      for (const auto& [name, t] : k_.temporaries) see(name, t.at ? t.at : k_.at);
      if (!open.empty()) break;
    }
    if (open.empty()) return;
    Diagnostic d;
    d.code = "unknown-type";
    d.text = fmt::format("the type of {} is neither declared nor given by an assignment",
                         quoted_list(open));
    d.where = {spans.front(), {}};
    d.hint = number_.count(open.front())
                 ? "declare the types of what is read"
                 : fmt::format("declare it in the kernel's arguments, as in `{}: float64`",
                               open.front());
    throw Error(std::move(d));
  }

  const Kernel& k_;
  const Kernel& flat_;  // without rules
  VariableTypes vars_;
  const Typer typer_{flat_, vars_};
  std::unordered_map<std::string, int> number_;  // of the untyped variables that are written
  std::vector<std::string> names_;
  std::vector<Writer> writers_;
  std::vector<std::vector<int>> written_by_, read_by_;  // variable -> writers
  std::vector<std::vector<int>> needs_;                 // variable -> variables
  std::vector<std::optional<Typed>> found_;
};

// ---- Checks, with all types known.

class TypeCheck {
 public:
  explicit TypeCheck(const Kernel& k) : k_(k), typer_(k, vars_) {
    for (const Argument& a : k.args) vars_[a.name] = a.type;
    for (const auto& [name, t] : k.temporaries) vars_[name] = t.type;
    const auto index = [&](const std::vector<std::string>& names) {
      for (const std::string& n : names) vars_.emplace(n, k.index_type);
    };
    for (const Domain& d : k.domains) index(d.inames()), index(param_names(d.set));
    if (k.assumptions) index(param_names(k.assumptions));
  }

  void run() {
    for (const Argument& a : k_.args) {
      if (a.shape) counts(*a.shape, a.at);
      if (a.strides) counts(*a.strides, a.at);
      if (a.offset) counts({a.offset}, a.at);
    }
    for (const auto& [name, t] : k_.temporaries) {
      if (t.shape) counts(*t.shape, t.at);
      if (t.strides) counts(*t.strides, t.at);
    }
    for (const InsnPtr& i : k_.instructions) instruction(*i);
  }

 private:
  void counts(const Exprs& es, const Span& at) {
    for (const Expr& e : es) {
      typer_.check(e);
      const auto t = typer_.type(e);
      if (t->type.is_record() || !is_integer(t->type.scalar))
        fail("bad-operand", e.at() ? e.at() : at, "`{}` is {}, not a number of elements",
             to_string(e), t->type.str());
    }
  }

  void letters(const Exprs& codes, const Span& at) {
    for (const Expr& e : codes) {
      typer_.check(e);
      const auto t = typer_.type(e);
      if (t && (t->type.is_record() || !is_integer(t->type.scalar)))
        fail("bad-operand", e.at() ? e.at() : at, "`{}` is {}, not the code of a letter",
             to_string(e), t->type.str());
    }
  }

  /// `a`: the address before.
  void length(const Expr& n, const Exprs* a, const Span& at) {
    typer_.check(n);
    const auto t = typer_.type(n);
    if (t && (t->type.is_record() || !is_integer(t->type.scalar)))
      fail("bad-operand", at, "`length({})` is {}, not an integer", to_string(n), t->type.str());
    const Argument* arg = a ? typer_.argument((*a)[0].as<Var>()->name) : nullptr;
    const Temporary* temporary = a ? k_.find_temporary((*a)[0].as<Var>()->name) : nullptr;
    const auto type = arg ? arg->type : temporary ? temporary->type : Type(Scalar::I8);
    if (!a || (type && *type != Type(Scalar::I8)))
      fail("bad-operand", at, "`length({})` follows no address of an array of int8", to_string(n));
  }

  void external(const Instruction& i, const Call& c) {
    for (std::size_t n = 0; n < c.args.size(); ++n) {
      const Expr& e = c.args[n];
      const Exprs* a = as_address(e);
      if (a)
        address(e, *a);
      else if (const Expr* of = as_text_length(e))
        length(*of, n > 0 ? as_address(c.args[n - 1]) : nullptr, e.at() ? e.at() : i.at);
      else if (const Exprs* codes = as_letters(e))
        letters(*codes, i.at);
      else if (!as_text(e))
        typer_.check(e);
    }
    for (const Expr& l : i.lhs) {
      // A scalar of the kernel's own may stand for a variable elsewhere.
      const Temporary* t = l.as<Var>() ? k_.find_temporary(written_name(l)) : nullptr;
      if (stands_for_elsewhere(k_, i, written_name(l)) && !(t && t->shape && t->shape->empty()))
        fail("bad-operand", l.at() ? l.at() : i.at,
             "`{}` cannot change `{}`, which is not among its arguments", c.name, to_string(l));
    }
  }

  void address(const Expr& e, const Exprs& a) {
    const std::string& name = a[0].as<Var>()->name;
    const Argument* arg = typer_.argument(name);
    const Temporary* t = k_.find_temporary(name);
    if (!(arg && arg->is_array) && !(t && !(t->shape && t->shape->empty())))
      fail("bad-operand", e.at(), "`{}` is not an array that can be passed", name);
    if (t && !t->base_storage.empty())
      fail("unsupported", e.at(), "`{}` shares its storage and cannot be passed", name);
    if (a.size() > 1) typer_.check(load(name, {a.begin() + 1, a.end()}, e.at()));
  }

  void instruction(const Instruction& i) {
    std::vector<Type> targets;
    const Call* call = external_call(k_, i);
    const bool gives = call && k_.externals.at(call->name);  // to the first, which is one value
    for (const Expr& l : i.lhs) {
      const std::string& name = written_name(l);
      const bool value = gives && &l == &i.lhs[0];
      if (value || !l.as<Var>() || !is_passed_to(k_, i, name)) typer_.check(l);
      if (!k_.find_temporary(name) && !typer_.argument(name))
        fail_for(name, "unknown-name", l.at() ? l.at() : i.at,
                 "`{}` is assigned but is not an argument or temporary", name);
      targets.push_back(typer_.type(l)->type);
    }
    for (const Expr& p : i.predicates) {
      typer_.check(p);
      if (typer_.type(p)->type.is_record())
        fail("bad-operand", p.at(), "`{}` cannot be a condition", to_string(p));
    }
    if (!i.rhs) return;
    if (const Call* c = external_call(k_, i); c && !i.lhs.empty()) return external(i, *c);
    if (i.lhs.size() > 1) {
      for (std::size_t n = 0; n < i.lhs.size(); ++n)
        assign(i, targets[n], TypeInference::tuple_part(i, n), i.lhs[n]);
    } else if (i.lhs.empty()) {
      typer_.check(i.rhs);
      fail("no-effect", i.at, "`{}` assigns nothing and so has no effect", to_string(i.rhs));
    } else {
      assign(i, targets[0], i.rhs, i.lhs[0]);
    }
  }

  void assign(const Instruction& i, const Type& target, const Expr& value, const Expr& lhs) {
    typer_.check(value, target);
    const Type t = typer_.type(value, target)->type;
    const bool records = t.is_record() || target.is_record();
    const bool loses = !records && is_complex(t.scalar) && !is_complex(target.scalar);
    if ((records && !(t == target)) || loses) {
      Diagnostic d;
      d.code = "type-mismatch";
      d.text = fmt::format("`{}` is {}, but the value that `{}` assigns to it is {}",
                           to_string(lhs), target.str(), i.id, t.str());
      d.where = {value.at() ? value.at() : i.at, {}};
      if (loses) d.hint = "take `real(...)` or `imag(...)`, or cast";
      throw Error(std::move(d));
    }
  }

  const Kernel& k_;
  VariableTypes vars_;
  Typer typer_;
};

}  // namespace

Kernel infer_types(Kernel k) {
  const bool open = std::any_of(k.args.begin(), k.args.end(), [](auto& a) { return !a.type; }) ||
                    std::any_of(k.temporaries.begin(), k.temporaries.end(),
                                [](auto& t) { return !t.second.type; });
  if (open) {
    const VariableTypes found = TypeInference(k, *WithoutRules(k)).run();
    for (Argument& a : k.args)
      if (!a.type) a.type = found.at(a.name);
    for (auto& [name, t] : k.temporaries)
      if (!t.type) t.type = found.at(name);
  }
  TypeCheck(*WithoutRules(k)).run();
  return k;
}

Type type_of(const Kernel& k, const Expr& e, const std::optional<Type>& wanted) {
  const auto t = Typer(k).type(e, wanted);
  if (!t) fail("unknown-type", e.at(), "the type of `{}` is not known", to_string(e));
  return t->type;
}

}  // namespace moonloop
