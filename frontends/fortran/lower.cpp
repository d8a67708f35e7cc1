#include "frontends/fortran/lower.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/layout.h"
#include "frontends/fortran/copies.h"
#include "frontends/fortran/effects.h"
#include "frontends/fortran/entry_values.h"
#include "frontends/fortran/loop_bounds.h"
#include "frontends/fortran/loop_domains.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/passes.h"
#include "frontends/fortran/roles.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"
#include "frontends/text/create.h"

// A routine as a kernel: each loop an iname of its own, subscripts from 0, scalars that the routine
// assigns in memory. Statements keep their order.
namespace moonloop::fortran {
namespace {

using text::Word;

class Lowering {
 public:
  Lowering(const Routine& routine, const Blocks& blocks, const FortranOptions& options,
           const text::Callees& callees)
      : r_(routine), blocks_(blocks), options_(options), callees_(callees) {
    if (options.directives == FortranDirectives::Ignore) drop_directives(r_.body);
  }

  Lowered run() {
    k_.name = r_.name;
    k_.at = r_.at;
    k_.guess = false;
    k_.default_order = Order::F;
    settle_entry_values(r_);
    share_data(r_, options_.lanes);
    recognize_inductions(r_);
    split_scalars(r_);
    forward_subscripts(r_);
    bool wide = r_.wide || counts_in_64_bits(r_);  // a kernel counts as those that it calls
    for (const auto& [name, callee] : callees_)
      wide = wide || (callee && callee->meaning->index_type == Scalar::I64);
    if (wide) k_.index_type = Scalar::I64;
    uses_ = uses_of(r_);
    for (const std::string& v : uses_.loops)
      if (uses_.behind.count(v) || r_.variables.at(v).dummy || uses_.assigned.count(v))
        kept_.insert(v);
    uses_.assigned.insert(kept_.begin(), kept_.end());
    const Body body = r_.body;
    for (const auto& [name, v] : r_.variables) taken_.insert(name);
    for (const std::string& a : r_.arguments) argument(r_.variables.at(a));
    for (const auto& [name, v] : r_.variables)
      if (!v.dummy) local(v);
    statements(body, -1, {});
    text::Errors errors;
    Lowered out;
    errors.guard([&] { out.kernel = create(std::move(k_), callees_, errors); });
    errors.throw_if_any();
    out.kernel.claims.push_back(in_bounds());
    out.steps = std::move(steps_);
    out.outputs = std::move(outputs_);
    out.outputs_inside = std::move(outputs_inside_);
    out.pointers = std::move(pointers_);
    out.calls_in_loops = std::move(calls_in_loops_);
    return out;
  }

 private:
  using Values = std::map<std::string, Expr>;  // of loop variables, by name

  /// The standard's demand on a program: no access outside of its arrays.
  Claim in_bounds() const {
    Claim c{Claim::Kind::InBounds,
            {},
            "Fortran: accesses are inside of their arrays, and read what has a value; `min` and "
            "`max` of a NaN are either value"};
    std::string pointers;
    for (const auto& [name, v] : r_.variables) {
      if (v.array) c.names.push_back(name);
      if (v.dummy && v.pointer) pointers += (pointers.empty() ? "`" : ", `") + name + "`";
    }
    if (!pointers.empty()) c.step += "; " + pointers + " share no memory that is written";
    return c;
  }

  // ---- Declarations.

  Exprs extents(const Variable& v) const {
    Exprs out;
    for (const Bounds& b : v.bounds) {
      if (!b.upper) return out;
      const bool varies = v.room && &b == &v.bounds.back();
      for (const Expr& e : varies ? Exprs{v.room} : Exprs{b.upper, b.lower}) fixed(e, v.at, v.name);
      out.push_back(varies ? v.room : index_add({index_sub(b.upper, first_of(b)), lit(1)}));
    }
    return out;
  }

  /// The extents of an array are known when the routine is called.
  void fixed(const Expr& e, const Span& at, const std::string& array) const {
    if (!e) return;
    std::set<std::string> names;
    collect_vars(e, names);
    for (const std::string& n : names)
      if (!is_parameter(n))
        fail("unsupported", at,
             "the bounds of `{}` depend on `{}`, which is not an argument that stays as it is",
             array, n);
  }

  void argument(const Variable& v) {
    Argument a;
    a.name = v.name;
    a.at = v.at;
    a.type = v.type;
    // Output that is never written has no value afterwards, which is no error in Fortran.
    const bool unwritten = v.intent == Intent::Out && !uses_.assigned.count(v.name);
    const bool written = v.array && v.intent == Intent::In && is_assigned(v.name, r_.body);
    a.intent = unwritten || written ? Intent::Unknown : v.intent;  // by what was called
    a.order = Order::F;
    a.fortran = role_of(v);
    if (v.array) {
      a.is_array = true;
      const Exprs shape = extents(v);
      if (shape.size() == v.bounds.size()) {
        a.shape = shape;
      } else if (shape.size() + 1 == v.bounds.size() && v.bounds.back().lower) {
        Exprs strides;  // its last extent follows from the accesses
        for (std::size_t i = 0; i < v.bounds.size(); ++i)
          strides.push_back(i == 0 ? lit(1) : index_mul(strides[i - 1], shape[i - 1]));
        a.strides = strides;
        a.fortran.assumed_size = true;
      } else {
        fail("unsupported", v.at, "the shape of `{}` is not supported in Fortran kernels", v.name);
      }
    } else if (uses_.assigned.count(v.name) || v.intent == Intent::Out ||
               v.intent == Intent::InOut || (v.optional && v.procedure.empty()) ||
               is_asked_for_memory(r_, v.name)) {
      a.is_array = true;  // the caller's variable
      a.shape.emplace();
    }
    k_.args.push_back(std::move(a));
  }

  void local(const Variable& v) {
    const bool loop_only = uses_.loops.count(v.name) && !kept_.count(v.name);
    if (loop_only || (!uses_.read.count(v.name) && !uses_.assigned.count(v.name))) return;
    Temporary t;
    t.name = v.name;
    t.at = v.at;
    t.type = v.logical && !v.kept ? Type(Scalar::Bool) : v.type;
    t.order = Order::F;
    t.shape = extents(v);
    if (t.shape->size() != v.bounds.size())
      fail("unsupported", v.at, "the extents of `{}` are not known", shown(v));
    if (v.saved && uses_.assigned.count(v.name))
      fail("unsupported", v.at,
           "`{}` keeps its value from call to call, which is not supported in Fortran kernels",
           shown(v));
    if (!v.initial.empty()) {
      t.read_only = true;
      t.initializer = std::make_shared<const std::vector<Expr>>(in_c_order(v, *t.shape));
    }
    k_.temporaries.emplace(v.name, std::move(t));
  }

  static std::vector<Expr> in_c_order(const Variable& v, const Exprs& shape) {
    std::vector<std::int64_t> n;
    std::size_t all = 1;
    for (const Expr& e : shape) {
      n.push_back(as_int(e).value_or(0));
      all *= static_cast<std::size_t>(n.back());
    }
    if (all != v.initial.size())
      fail("unsupported", v.at, "`{}` has {} values for {} elements", v.name, v.initial.size(),
           all);
    std::vector<Expr> out;
    for (std::size_t c = 0; c < all; ++c) {
      std::size_t rest = c, at = 0, stride = all;
      for (std::size_t d = n.size(); d-- > 0;) {  // the last axis is the fastest in C
        const auto extent = static_cast<std::size_t>(n[d]);
        stride /= extent;
        at += rest % extent * stride;
        rest /= extent;
      }
      out.push_back(v.initial[at]);
    }
    return out;
  }

  bool is_parameter(const std::string& name) const {
    const auto it = r_.variables.find(name);
    return it != r_.variables.end() && it->second.dummy && !it->second.array &&
           is_integer(it->second.type.scalar) && !uses_.assigned.count(name) &&
           it->second.intent != Intent::Out && it->second.intent != Intent::InOut &&
           !it->second.optional;
  }

  std::string fresh(const std::string& base) {
    std::string name = base;
    const std::string stem = stem_of(base);
    for (int i = 1; !taken_.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
    return name;
  }

  // ---- Expressions.

  Expr value(const Expr& whole, const Values& loops) {
    if (!whole) return whole;
    const Expr e = reduced(whole, loops);
    return rewrite(e, [&](const Expr& x) -> Expr {
      if (const auto* v = x.as<Var>()) {
        const auto it = loops.find(v->name);
        return it == loops.end() ? x : it->second;
      }
      const auto* l = x.as<Load>();
      if (!l) return x;
      const auto it = r_.variables.find(l->array);
      if (it == r_.variables.end())
        throw InternalError("an array without a declaration: " + l->array);
      const Variable& array = it->second;
      Exprs index;
      for (std::size_t i = 0; i < l->index.size(); ++i)
        index.push_back(folded(index_sub(l->index[i], value(first_of(array.bounds.at(i)), loops))));
      return load(l->array, index, x.at());
    });
  }

  /// A subscript without sums and products in it that can be computed now.
  static Expr folded(const Expr& e) {
    const auto* n = e.as<Nary>();
    if (!n || (n->op != NaryOp::Add && n->op != NaryOp::Mul)) return e;
    Expr out = folded(n->terms[0]);
    for (std::size_t i = 1; i < n->terms.size(); ++i) {
      const Expr next = folded(n->terms[i]);
      out = n->op == NaryOp::Add ? index_add({out, next}) : index_mul(out, next);
    }
    return out;
  }

  /// `e` with the intrinsics that make scalars of arrays as reductions.
  Expr reduced(const Expr& e, const Values& loops) {
    const std::string name = called(e, kOfArray);
    if (name.empty()) return map_children(e, [&](const Expr& x) { return reduced(x, loops); });
    const Call& c = *e.as<Call>();
    std::vector<std::string> inames;
    Expr any_element;  // whether there is one at all
    const std::vector<Axis> axes = axes_of(c.args[0], r_);
    Exprs numbers(axes.size());
    for (std::size_t n = axes.size(); n-- > 0;) {  // adjacent elements innermost
      const Axis& a = axes[n];
      inames.push_back(fresh("e"));
      const Expr i = var(inames.back(), e.at());
      const std::int64_t step = as_int(a.step).value();
      axis_domain(inames.back(), value(a.lower, loops), value(a.upper, loops), step, e.at());
      numbers[n] = i;
      const Expr there = Expr(Compare{step > 0 ? CompareOp::Le : CompareOp::Ge, a.lower, a.upper});
      any_element = any_element ? conjunction({any_element, there}) : there;
    }
    const Expr of = reduced(element(c.args[0], numbers, r_), loops);
    const auto reduce = [&](ReduceOp op, const Expr& arg) {
      return Expr(Reduce{op, inames, {arg}}, e.at());
    };
    if (name == "sum") return reduce(ReduceOp::Sum, of);
    if (name == "product") return reduce(ReduceOp::Product, of);
    if (name == "any") return reduce(ReduceOp::Any, of);
    if (name == "all") return reduce(ReduceOp::All, of);
    if (name == "count") return reduce(ReduceOp::Sum, Expr(Select{of, lit(1), lit(0)}, e.at()));
    if (name == "dot_product") {
      const Expr other = reduced(element(c.args[1], numbers, r_), loops);
      return reduce(ReduceOp::Sum, Expr(Nary{NaryOp::Mul, {of, other}}, e.at()));
    }
    const Expr found = reduce(name == "maxval" ? ReduceOp::Max : ReduceOp::Min, of);
    return Expr(Select{any_element, found, c.args[1]}, e.at());
  }

  /// The domain of `iname`, which numbers the elements along an axis.
  void axis_domain(const std::string& iname, const Expr& first, const Expr& last, std::int64_t step,
                   const Span& at) {
    const auto fixed = [&](const Expr& e, const char* end) {
      return domains_.stays(e) ? e : keep(e, iname + end, here_, at);
    };
    const auto add = [&](const Expr& lower, const Expr& upper) {
      const Expr i = var(iname, at), place = index_add({lower, index_mul(lit(step), i)});
      return domains_.add(iname,
                          {Expr(Compare{CompareOp::Ge, i, lit(0)}), side(place, upper, step > 0)},
                          Word{iname, at}, around_);
    };
    const Expr lower = fixed(first, "_from"), upper = fixed(last, "_to");
    if (add(lower, upper)) return;
    const Expr from = keep(lower, iname + "_from", here_, at),
               to = keep(upper, iname + "_to", here_, at);
    ensure(add(from, to), "bounds of a section that are not variables");
  }

  // ---- Directives: steps that a script could take, so that they are proved as those are.

  static void drop_directives(Body& body) {
    for (Statement& s : body) {
      if (auto* d = std::get_if<Do>(&s.what)) d->directive = nullptr;
      for (auto* inner : bodies(s)) {
        *inner = std::make_shared<Body>(**inner);
        drop_directives(**inner);
      }
    }
  }

  void directive(const Directive& x, const Do& d, const std::string& iname) {
    demanded_ = {&x, {}, x.tag == "g" ? group_axes(*d.body) : 0};
    for (const Directive::Reduction& r : x.reductions)
      each(*d.body, [&](const Statement& s) {
        const auto* a = std::get_if<Assignment>(&s.what);
        if (a && written_name(a->to) == r.variable && operation(a->value) != r.op)
          fail("unsupported", s.at, "the directive reduces `{}` by `{}`, this statement does not",
               r.variable, r.op);
      });
    demand(iname);
  }

  /// How many axes of groups the directives of loops in `body` take.
  static std::size_t group_axes(const Body& body) {
    std::size_t most = 0;
    for (const Statement& s : body) {
      std::size_t own = 0;
      for (const auto* inner : bodies(s)) own = std::max(own, group_axes(**inner));
      const auto* d = std::get_if<Do>(&s.what);
      if (d && d->directive && d->directive->tag == "g")
        own += static_cast<std::size_t>(d->directive->loops);
      most = std::max(most, own);
    }
    return most;
  }

  /// The next loop inwards that the directive means; with the last of them the steps are known.
  void demand(const std::string& iname) {
    const Directive& x = *demanded_.directive;
    demanded_.inames.push_back(iname);
    if (demanded_.inames.size() < static_cast<std::size_t>(x.loops)) return;
    std::string steps;
    std::vector<std::string> around, over;
    for (const auto* inames : {&around_, &demanded_.inames})
      for (const std::string& i : *inames) around.push_back(fmt::format("[\"{}\"] = true", i));
    for (const std::string& i : demanded_.inames) over.push_back(fmt::format("\"{}\"", i));
    for (const Directive::Reduction& r : x.reductions)
      steps += fmt::format(  // also over the loops deeper inside that the statement is in
          "for _, i in ipairs(lp.find_instructions(_G[\"{0}\"], \"writes:{1} and iname:{2}\")) do "
          "local around, over = {{{3}}}, {{{4}}} "
          "for _, n in ipairs(i.inames) do if not around[n] then over[#over + 1] = n end end "
          "_G[\"{0}\"] = lp.recognize_reduction(_G[\"{0}\"], over, {{within = \"id:\" .. i.id}}) "
          "end ",
          r_.name, r.variable, demanded_.inames.back(), fmt::join(around, ", "),
          fmt::join(over, ", "));
    auto axis = demanded_.inames.size() + demanded_.inside;
    // What each thread has of its own is common here, unless it is proved to be an iteration's.
    const bool trusted =
        options_.directives == FortranDirectives::Use && x.per_thread.empty() && !x.kept_apart;
    std::vector<std::pair<std::string, std::string>> tags;  // by iname
    for (const std::string& i : demanded_.inames)
      tags.emplace_back(i, x.tag == "g" ? "g." + std::to_string(--axis) : x.tag);
    if (x.lanes > 0) steps += in_lanes(x, tags);
    for (const auto& [iname, tag] : tags)
      steps += x.claims && !trusted
                   ? claimed(x, iname, tag)
                   : fmt::format("_G[\"{0}\"] = lp.tag_inames(_G[\"{0}\"], {{{1} = \"{2}\"}}{3}) ",
                                 r_.name, iname, tag, trusted ? ", {unsafe = true}" : "");
    steps_.emplace_back(x.at.line, std::move(steps));
    demanded_ = {};
  }

  /// The innermost loop in parts of as many iterations as may run together.
  std::string in_lanes(const Directive& x, std::vector<std::pair<std::string, std::string>>& tags) {
    auto [iname, tag] = tags.back();
    if (tag == "simd")
      tags.clear();  // which loops outside of it would all be
    else
      tags.pop_back();
    const std::string part = fresh(iname + "_part"), lane = fresh(iname + "_lane");
    if (tag != "simd") tags.emplace_back(part, tag);
    tags.emplace_back(lane, "simd");
    return fmt::format(
        "_G[\"{0}\"] = lp.split_iname(_G[\"{0}\"], \"{1}\", {2}, {{outer_iname = \"{3}\", "
        "inner_iname = \"{4}\"}}) ",
        r_.name, iname, x.lanes, part, lane);
  }

  /// A tag that is taken on trust where the source does not show that it is wrong.
  std::string claimed(const Directive& x, const std::string& iname, const std::string& tag) const {
    return fmt::format(
        "do local tags = {{{1} = \"{2}\"}} "
        "local tagged, why = lp.attempt(lp.tag_inames, _G[\"{0}\"], tags) "
        "_G[\"{0}\"] = tagged or lp.tag_inames(_G[\"{0}\"], tags, "
        "{{unsafe = why.code == \"not-proved\"{3}}}) end ",
        r_.name, iname, tag, x.symbolic ? " or why.code == \"races\"" : "");
  }

  static std::string operation(const Expr& e) {
    if (const auto* n = e.as<Nary>())
      return n->op == NaryOp::Add ? "+" : n->op == NaryOp::Mul ? "*" : "";
    const auto* c = e.as<Call>();
    return c ? c->name : "";
  }

  // ---- Statements.

  void emit(const Expr& to, const Expr& from, int block, const Span& at, bool atomic = false) {
    text::Statement s;
    s.lhs.push_back({to, false, {}, at});
    add(std::move(s), from, block, at, atomic);
  }

  void add(text::Statement s, const Expr& from, int block, const Span& at, bool atomic = false) {
    s.rhs = from;
    s.block = block;
    s.at = at;
    s.written_options = std::make_unique<text::Options>();
    s.written_options->deps_final = true;    // the order is as written
    s.written_options->inames_exact = true;  // and so are the loops
    for (const std::string& i : around_) s.written_options->inames.push_back({i, at});
    if (atomic) s.written_options->atomic = Atomicity::Update;
    for (const Block& b : blocks_.tagged)
      if (at.source && at.source->name == b.at.source->name && b.first <= at.line &&
          at.line <= b.last)
        s.written_options->tags.insert(b.name);
    k_.statements.push_back(std::move(s));
  }

  /// Flang sees an assignment of a loop's variable only in the routine itself.
  static void no_loop_variable(const Expr& to, const Values& loops, const Span& at) {
    const auto* v = to.as<Var>();
    if (v && loops.count(v->name))
      fail("unsupported", at,
           "`{}` is the variable of a loop around this; its assignment is not supported in Fortran "
           "kernels",
           v->name);
  }

  void statements(const Body& body, int block, const Values& loops) {
    for (std::size_t n = 0; n < body.size(); ++n) {
      const Statement& s = body[n];
      here_ = block;
      if (const auto* a = std::get_if<Assignment>(&s.what)) {
        no_loop_variable(a->to, loops, s.at);
        emit(value(a->to, loops), value(a->value, loops), block, s.at, a->atomic);
      }
      if (const auto* c = std::get_if<Choice>(&s.what)) choice(*c, block, loops, s.at);
      if (const auto* x = std::get_if<SubroutineCall>(&s.what)) external(*x, block, loops, s.at);
      if (const auto* x = std::get_if<Stop>(&s.what); x && !x->done)
        external({stop_name(r_.name), {text_literal(x->text), lit(x->status)}}, block, loops, s.at);
      if (const auto* d = std::get_if<Do>(&s.what))
        loop(*d, block, loops, s.at, is_read_behind(body, n, d->variable, block));
    }
  }

  /// `now`, the value of argument `a`, in that argument's own integer type, whatever type loops
  /// count in.
  Expr of_own_kind(const Expr& now, const Expr& a) const {
    if (k_.index_type == Scalar::I32) return now;
    const Type type = type_of(a, r_, {});
    return type == Type(Scalar::I32) ? Expr(Cast{type, now}, a.at()) : now;
  }

  /// A call of a routine that is a kernel too.
  void kernel_call(const SubroutineCall& x, int block, const Values& loops, const Span& at) {
    const std::string name = kernel_name(x.name);
    const Kernel& callee = *callees_.at(name)->meaning;
    Exprs given;
    for (std::size_t n = 0; n < x.arguments.size(); ++n) {
      const Expr& a = x.arguments[n];
      if (x.changes->at(n)) no_loop_variable(a, loops, at);
      const bool array = callee.args.at(n).is_array && !callee.args[n].shape->empty();
      if (!array) {
        given.push_back(value(a, loops));
      } else if (a.as<Var>()) {
        given.push_back(address(written_name(a), {}, at));
      } else {
        given.push_back(address(written_name(a), value(a, loops).as<Load>()->index, at));
      }
    }
    text::Statement s;
    s.kind = InsnKind::Call;
    s.calls_kernel = true;
    s.argument_names.resize(given.size());
    add(std::move(s), call(name, std::move(given), at), block, at);
  }

  /// Whether a statement's own cost is above that of a call.
  static bool is_transfer(const std::string& what) {
    for (const char* x : {"print", "write", "read", "open", "close", "inquire", "flush", "rewind",
                          "backspace", "endfile", "allocate", "deallocate", "copy"})
      if (what == x) return true;
    return false;
  }

  /// Calls keep their order by a variable that all of them write.
  void external(SubroutineCall x, int block, const Values& loops, const Span& at) {
    if (x.changes) return kernel_call(x, block, loops, at);
    exchange(x, false, block, loops, at);
    const SubroutineCall after = x;
    external_alone(std::move(x), block, loops, at);
    exchange(after, true, block, loops, at);
  }

  /// Values of copies that the caller passes, where a call may access the variables themselves.
  void exchange(const SubroutineCall& x, bool back, int block, const Values& loops,
                const Span& at) {
    if (x.name == stop_name(r_.name)) return;
    for (const auto& [name, v] : r_.variables)
      if (is_passed_as_copy(v) && may_access(x, v) &&
          (back ? may_change(x, v) : uses_.assigned.count(name) > 0)) {
        auto output = std::make_shared<const Output>(exchange_of(v, r_, back, at));
        external_alone({"a copy", {var(name, at)}, {}, output}, block, loops, at);
      }
  }

  void external_alone(SubroutineCall x, int block, const Values& loops, const Span& at) {
    const std::string callee = x.name;
    if (x.output) x.name = output_routine(*x.output, at);
    if (x.output && !around_.empty() && !is_transfer(x.output->what)) calls_in_loops_.push_back(at);
    Exprs arguments;
    text::Statement s;
    if (x.result) no_loop_variable(x.result, loops, at);
    if (x.result) s.lhs.push_back({value(x.result, loops), false, {}, at});
    std::set<std::string> changed;
    for (std::size_t n = 0; n < x.arguments.size(); ++n) {
      const Expr& a = x.arguments[n];
      const bool place = a.as<Var>() || a.as<Load>();
      const std::string name = place ? written_name(a) : "";
      if (place && r_.variables.at(name).array)
        arguments.push_back(a.as<Var>() ? address(name, {}, at)
                                        : address(name, value(a, loops).as<Load>()->index, at));
      else if (place && r_.variables.at(name).character)
        arguments.push_back(letters({a}, at));
      else if (const Expr* length = as_text_length(a))
        arguments.push_back(text_length(value(*length, loops), at));
      else if (as_text(a) || as_letters(a) || (place && !loops.count(name)))
        arguments.push_back(a);
      else
        arguments.push_back(of_own_kind(value(a, loops), a));
      if (place && may_change_argument(x, n) && uses_.assigned.count(name) &&
          changed.insert(name).second)
        s.lhs.push_back({var(name, at), false, {}, at});
    }
    for (const auto& [name, v] : r_.variables) {
      if (!v.outer || x.name == stop_name(r_.name)) continue;  // nothing runs after that
      if (may_move(x, v, changed.count(name) > 0))
        fail("unsupported", at,
             "{}, which may give `{}` other memory, is not supported in Fortran kernels",
             x.output ? fmt::format("`{}`", x.output->what)
                      : fmt::format("the call of `{}`", callee),
             name);
      const bool changes = may_change(x, v);
      if (!may_access(x, v) || !changed.insert(name).second) continue;
      if (!changes && !uses_.assigned.count(name)) continue;  // the same whenever it is read
      arguments.push_back(knows(name, at));
      if (changes) s.lhs.push_back({var(name, at), false, {}, at});
    }
    if (outside_.empty()) {
      Temporary t;
      t.name = outside_ = fresh("outside");
      t.at = at;
      t.type = Type(Scalar::I32);
      t.shape.emplace();
      k_.temporaries.emplace(outside_, std::move(t));
    }
    s.lhs.push_back({var(outside_, at), false, {}, at});
    s.kind = InsnKind::Call;
    std::optional<moonloop::Scalar> gives;
    if (x.result) gives = r_.variables.at(written_name(x.result)).type.scalar;
    if (const auto [it, added] = k_.externals.emplace(x.name, gives); !added && it->second != gives)
      fail("unsupported", at, "`{}` is called as a function and as a subroutine", x.name);
    add(std::move(s), call(x.name, std::move(arguments), at), block, at);
  }

  /// Routines in Fortran, next to the interface, for a statement: the name of what C calls.
  std::string output_routine(const Output& o, const Span& at) {
    OutputRoutines made = routines_for(o, r_, ++statements_in_fortran_, at);
    if (!made.anywhere.empty()) outputs_.push_back(std::move(made.anywhere));
    if (!made.inside.empty()) outputs_inside_.push_back(std::move(made.inside));
    if (made.pointer) pointers_.push_back(std::move(*made.pointer));
    return made.name;
  }

  /// Whether anything may read `variable` after statement `n` before another loop sets it.
  bool is_read_behind(const Body& body, std::size_t n, const std::string& variable,
                      int block) const {
    if (!kept_.count(variable)) return false;
    for (std::size_t i = n + 1; i < body.size(); ++i) {
      if (reads(Body{body[i]}, variable)) return true;
      const auto* d = std::get_if<Do>(&body[i].what);
      if (d && d->variable == variable) return false;
    }
    return block >= 0 || r_.variables.at(variable).dummy;
  }

  /// Whether statements read a variable outside of its own loops.
  static bool reads(const Body& body, const std::string& variable) {
    const auto in = [&](const Expr& e) {
      std::set<std::string> names;
      if (e) collect_vars(e, names);
      return names.count(variable) != 0;
    };
    return std::any_of(body.begin(), body.end(), [&](const Statement& s) {
      if (const auto* a = std::get_if<Assignment>(&s.what)) return in(a->to) || in(a->value);
      if (const auto* c = std::get_if<Choice>(&s.what))
        return std::any_of(c->arms.begin(), c->arms.end(), [&](const Choice::Arm& arm) {
          return in(arm.condition) || reads(*arm.body, variable);
        });
      if (const auto* x = std::get_if<SubroutineCall>(&s.what))
        return std::any_of(x->arguments.begin(), x->arguments.end(), in);
      const auto* d = std::get_if<Do>(&s.what);
      return d && (in(d->from) || in(d->to) || in(d->step) ||
                   (d->variable != variable && reads(*d->body, variable)));
    });
  }

  int add_block(text::Block b) {
    k_.blocks.push_back(std::move(b));
    return static_cast<int>(k_.blocks.size()) - 1;
  }

  void choice(const Choice& c, int block, const Values& loops, const Span& at) {
    text::Chain chain;
    chain.at = at;
    chain.lasting = c.lasting;
    chain.inames.emplace();
    for (const std::string& i : around_) chain.inames->push_back({i, at});
    chain.first = k_.statements.size();
    chain.block = block;
    for (const Choice::Arm& a : c.arms) {
      if (a.condition)
        chain.conditions.push_back(value(a.condition, loops));
      else
        chain.has_else = true;
    }
    const std::size_t number = k_.chains.size();
    k_.chains.push_back(std::move(chain));
    int arm = 0;
    for (const Choice::Arm& a : c.arms) {
      const int inner =
          add_block({text::Block::Kind::Arm, block, {}, {}, static_cast<int>(number), arm++, at});
      statements(*a.body, inner, loops);
    }
    k_.chains[number].last = k_.statements.size();
  }

  /// A bound as the domain has it: itself, or a temporary that keeps its value from the loop's
  /// start.
  Expr bound(const Expr& e, const std::string& name, int block, const Span& at) {
    return domains_.stays(e) ? e : keep(e, name, block, at);
  }

  /// A temporary that has the value from here on.
  Expr keep(const Expr& e, const std::string& name, int block, const Span& at) {
    Temporary t;
    t.name = fresh(name);
    t.at = at;
    t.type = Type(k_.index_type);
    t.shape.emplace();
    const Expr out = var(t.name, at);
    k_.temporaries.emplace(t.name, std::move(t));
    emit(out, e, block, at);
    return out;
  }

  void loop_body(const Do& d, const std::string& iname, int block, const Values& inner,
                 const Span& at) {
    const int body = add_block({text::Block::Kind::For, block, {Word{iname, at}}, {}, -1, 0, at});
    around_.push_back(iname);
    if (d.directive)
      directive(*d.directive, d, iname);
    else if (demanded_.directive)
      demand(iname);
    statements(*d.body, body, inner);
    around_.pop_back();
  }

  /// A loop whose step is known only at its start: that many iterations, counted from 0.
  void counted_loop(const Do& d, const std::string& iname, const Expr& from, int block,
                    const Values& outer, const Span& at, bool after) {
    const Expr step = keep(value(d.step, outer), iname + "_step", block, at);
    const Expr reach = index_add({index_sub(value(d.to, outer), from), step});
    const Expr trips = keep(call("max", {call("truncdiv", {reach, step}, at), lit(0)}, at),
                            iname + "_trips", block, at);
    const Expr i = var(iname, at);
    ensure(domains_.add(
               iname,
               {Expr(Compare{CompareOp::Ge, i, lit(0)}), Expr(Compare{CompareOp::Lt, i, trips})},
               Word{d.variable, at}, around_),
           "a count of iterations that is not a variable");
    const auto place = [&](const Expr& n) {
      return Expr(Nary{NaryOp::Add, {from, Expr(Nary{NaryOp::Mul, {step, n}}, at)}}, at);
    };
    Values inner = outer;
    inner[d.variable] = place(i);
    loop_body(d, iname, block, inner, at);
    if (after) emit(var(d.variable, at), place(trips), block, at);
  }

  /// `after`: the variable has its value after the loop too.
  void loop(const Do& d, int block, const Values& outer, const Span& at, bool after) {
    const auto step = d.step ? as_int(value(d.step, outer)) : std::optional<std::int64_t>(1);
    if (step && *step == 0) fail("fortran", at, "the step of a loop is zero");
    const bool first_use = !taken_loops_.count(d.variable) && !kept_.count(d.variable);
    const std::string iname = first_use ? d.variable : fresh(d.variable);
    taken_loops_.insert(d.variable);
    Expr from = bound(value(d.from, outer), iname + "_from", block, at);
    if (!step) return counted_loop(d, iname, from, block, outer, at, after);
    Expr to = bound(value(d.to, outer), iname + "_to", block, at);
    Values inner = outer;
    const auto add = [&] {
      const Expr number = var(iname, at);
      if (*step < 0) {  // counted from its first iteration
        inner[d.variable] = index_add({from, index_mul(lit(*step), number)});
        return domains_.add(
            iname,
            {Expr(Compare{CompareOp::Ge, number, lit(0)}), side(inner[d.variable], to, false)},
            Word{d.variable, at}, around_);
      }
      // Counted as in C: loops from 1 become zero-based.
      const Expr i = index_add({number, lit(std::min(as_int(from).value_or(1), std::int64_t{1}))});
      inner[d.variable] = i;
      Exprs conditions = {side(i, from, false), side(i, to, true)};
      if (*step > 1)
        conditions.push_back(Expr(Compare{
            CompareOp::Eq, Expr(Binary{BinaryOp::Mod, index_sub(i, from), lit(*step)}), lit(0)}));
      return domains_.add(iname, conditions, Word{d.variable, at}, around_);
    };
    if (!add()) {
      from = keep(from, iname + "_from", block, at);
      to = keep(to, iname + "_to", block, at);
      ensure(add(), "bounds of a loop that are not variables");
    }
    loop_body(d, iname, block, inner, at);
    if (!after) return;
    const std::int64_t size = std::abs(*step);
    const Expr distance = *step > 0 ? index_sub(to, from) : index_sub(from, to);
    const Expr reach = index_add({distance, lit(size)});
    const Expr trips = size == 1 ? reach : Expr(Binary{BinaryOp::FloorDiv, reach, lit(size)});
    emit(var(d.variable, at),
         index_add({from, index_mul(lit(*step), call("max", {trips, lit(0)}, at))}), block, at);
  }

  Routine r_;  // with the arrays that it needs besides
  const Blocks& blocks_;
  const FortranOptions& options_;
  const text::Callees& callees_;
  text::KernelText k_;
  std::vector<std::pair<int, std::string>> steps_;
  std::vector<std::string> outputs_, outputs_inside_;
  std::vector<std::pair<std::string, std::string>> pointers_;
  std::size_t statements_in_fortran_ = 0;
  std::vector<Span> calls_in_loops_;
  struct {
    const Directive* directive = nullptr;  // the current one, which covers further inner loops too
    std::vector<std::string> inames;       // of those that were found
    std::size_t inside = 0;                // axes of groups that loops inside take
  } demanded_;
  std::string outside_;  // what calls of other files' routines write
  Uses uses_;
  std::set<std::string> kept_;  // variables of loops that are read where these do not run
  std::set<std::string> taken_, taken_loops_;
  LoopDomains domains_{k_, [this](const std::string& n) { return is_parameter(n); }};
  std::vector<std::string> around_;  // inames of the loops around, outer ones first
  int here_ = -1;                    // the block of the current statement
};

}  // namespace

Lowered lower(const Routine& routine, const Blocks& blocks, const FortranOptions& options,
              const std::map<std::string, std::shared_ptr<const CalledKernel>>& callees) {
  return Lowering(routine, blocks, options, callees).run();
}

}  // namespace moonloop::fortran
