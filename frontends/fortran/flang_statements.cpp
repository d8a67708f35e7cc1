#include <algorithm>
#include <cctype>

#include "core/base/diagnostic.h"
#include "core/model/external.h"
#include "frontends/fortran/entries.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/flang_formats.h"
#include "frontends/fortran/flang_moved.h"
#include "frontends/fortran/flang_parts.h"
#include "frontends/fortran/flang_records.h"
#include "frontends/fortran/flang_regions.h"
#include "frontends/fortran/intrinsics.h"
#include "frontends/fortran/memory_flags.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/regions.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/texts.h"
#include "frontends/fortran/uses.h"

// Flang's statements as program.h has them.
namespace moonloop::fortran {
namespace {

class Reader : private DirectiveReader {
 public:
  Reader(const sem::Scope& scope, const Places& places, bool skip_output, const fp::Block& all,
         const ProcedureEffects& procedures, Routine& routine)
      : DirectiveReader(places, routine),
        scope_(scope),
        skip_output_(skip_output),
        moved_(moved_in(all, procedures, boxes_of(all, scope, places, procedures, routine))) {
    moved_.same_shape = assignments_of_same_shape(all, routine.at);
  }

  Body block(const fp::Block& b, const Span& around) override {
    Body out;
    for (const fp::ExecutionPartConstruct& c : b) try {
        part(c, around, out);
      } catch (const Error& e) {
        errors_.insert(errors_.end(), e.diagnostics().begin(), e.diagnostics().end());
      }
    return out;
  }

  /// The length of a text in a `block` is that at its start, which has to be the routine's.
  void check_blocks(const Body& all) {
    if (bounds_of_blocks_.empty()) return;
    const std::set<std::string> changed = changed_in(all);
    for (const auto& [name, in_bounds] : bounds_of_blocks_)
      for (const std::string& n : in_bounds)
        if (const Variable& v = routine_.variables.at(name); v.text && changed.count(n))
          unsupported(v.at,
                      fmt::format("`{}`, whose bounds depend on `{}`, which the routine assigns,",
                                  name, n));
  }

  void end(Body& all) { end_boxes(moved_.boxes, routine_, all); }

  /// Throws all errors of the statements so far.
  void throw_errors() {
    formats_.put(errors_);
    if (!errors_.empty()) throw Error(std::move(errors_));
  }

 private:
  template <typename T>
  Expr value(const T& e, const Span& at) const {
    const SomeExpr* typed = sem::GetExpr(nullptr, e);
    if (!typed) fail("fortran", at, "Flang gives an expression no type");
    return to_expr(*typed, at);
  }

  void part(const fp::ExecutionPartConstruct& c, const Span& around, Body& out) {
    std::visit(Fortran::common::visitors{
                   [&](const fp::ExecutableConstruct& x) { construct(x, around, out); },
                   [&](const fp::Statement<Fortran::common::Indirection<fp::FormatStmt>>& x) {
                     formats_.note(x);
                   },
                   [&](const fp::Statement<Fortran::common::Indirection<fp::EntryStmt>>& x) {
                     out.push_back({places_.of(x.source), Mark{label_of_entry(entries_++)}});
                   },
                   [&](const fp::Statement<Fortran::common::Indirection<fp::DataStmt>>&) {},
                   [&](const fp::Statement<Fortran::common::Indirection<fp::NamelistStmt>>&) {},
                   [&](const fp::ErrorRecovery&) {}},
               c.u);
  }

  void construct(const fp::ExecutableConstruct& c, const Span& around, Body& out) {
    using Fortran::common::Indirection;
    if (const auto text = whole_with(c, moved_)) {
      const Span at = places_.of(*text);
      std::optional<OutputStatement> whole;
      try {
        whole = read_kept(c, *text, at, moved_);
      } catch (const Error&) {}  // its statements one by one, which say what is in the way
      if (whole) return output(std::move(*whole), at, out);
    }
    std::visit(Fortran::common::visitors{
                   [&](const fp::Statement<fp::ActionStmt>& x) {
                     mark(x, out);
                     action(x.statement, x.source, out);
                   },
                   [&](const Indirection<fp::DoConstruct>& x) { loop(x.value(), out); },
                   [&](const Indirection<fp::IfConstruct>& x) {
                     const auto& head = std::get<fp::Statement<fp::IfThenStmt>>(x.value().t);
                     named(std::get<std::optional<fp::Name>>(head.statement.t), around, out,
                           [&](Body& to) { choice(x.value(), to); });
                   },
                   [&](const Indirection<fp::CaseConstruct>& x) {
                     const auto& head = std::get<fp::Statement<fp::SelectCaseStmt>>(x.value().t);
                     named(std::get<std::optional<fp::Name>>(head.statement.t), around, out,
                           [&](Body& to) { select(x.value(), to); });
                   },
                   [&](const Indirection<fp::AssociateConstruct>& x) {
                     const auto& head = std::get<fp::Statement<fp::AssociateStmt>>(x.value().t);
                     named(std::get<std::optional<fp::Name>>(head.statement.t), around, out,
                           [&](Body& to) { associate(x.value(), to); });
                   },
                   [&](const Indirection<fp::BlockConstruct>& x) {
                     if (const sem::Symbol* s = sized_in_fortran(x.value()))
                       return whole_block(c, x.value(), *s, out);
                     const auto& head = std::get<fp::Statement<fp::BlockStmt>>(x.value().t);
                     named(head.statement.v, around, out,
                           [&](Body& to) { block_construct(x.value(), to); });
                   },
                   [&](const Indirection<fp::WhereConstruct>& x) { where(x.value(), out); },
                   [&](const Indirection<fp::ForallConstruct>& x) { forall(x.value(), out); },
                   [&](const Indirection<fp::CompilerDirective>& x) {
                     read_hint(x.value(), places_, routine_);
                   },
                   [&](const Indirection<fp::OpenMPConstruct>& x) { openmp(x.value(), out); },
                   [&](const Indirection<fp::OpenACCConstruct>& x) { openacc(x.value(), out); },
                   [&](const Indirection<fp::SelectTypeConstruct>& x) {
                     unsupported(places_.of(std::get<0>(x.value().t).source), "`select type`");
                   },
                   [&](const Indirection<fp::SelectRankConstruct>& x) {
                     unsupported(places_.of(std::get<0>(x.value().t).source), "`select rank`");
                   },
                   [&](const auto&) { unsupported(around, "a construct of this form"); }},
               c.u);
  }

  /// The label of a statement, which jumps may go to.
  template <typename T>
  void mark(const fp::Statement<T>& s, Body& out) const {
    if (s.label) out.push_back({places_.of(s.source), Mark{*s.label}});
  }

  void action(const fp::ActionStmt& s, fp::CharBlock source, Body& out) {
    using Fortran::common::Indirection;
    const Span at = places_.of(source);
    const auto keep = [&](std::string_view what) {
      output(read_kept(s, what, source, at, moved_), at, out);
    };
    const bool has_moved = uses(s, moved_);
    std::visit(
        Fortran::common::visitors{
            [&](const Indirection<fp::AssignmentStmt>& x) {
              if (has_moved && !assigns_flag(x.value(), moved_)) return keep("assignment");
              assignment(x.value(), at, out);
            },
            [&](const Indirection<fp::IfStmt>& x) {
              const auto& inner = std::get<1>(x.value().t);
              if (gives_memory(inner.statement, routine_) &&
                  !has_value(std::get<0>(x.value().t), at))
                return keep("if");  // it asks `allocated`
              Choice c;
              auto body = std::make_shared<Body>();
              action(inner.statement, inner.source, *body);
              const Expr condition = tested(std::get<0>(x.value().t), at, out);
              c.arms.push_back({condition, std::move(body)});
              out.push_back({at, std::move(c)});
            },
            [&](const fp::ContinueStmt&) {},
            [&](const Indirection<fp::ReturnStmt>& x) {
              if (const auto& way = x.value().v)
                out.push_back({at, Assignment{alternate_return(routine_, at), value(*way, at)}});
              out.push_back({at, Leave{Leave::Kind::Return}});
            },
            [&](const Indirection<fp::CallStmt>& x) {
              if (has_moved && x.value().typedCall) return keep("call");
              output(read_call(x.value(), s, source, at, moved_), at, out);
            },
            [&](const Indirection<fp::GotoStmt>& x) { out.push_back({at, Jump{x.value().v}}); },
            [&](const Indirection<fp::ExitStmt>& x) {
              out.push_back({at, Leave{Leave::Kind::Exit, left_by(around_, x.value().v, at)}});
            },
            [&](const Indirection<fp::CycleStmt>& x) {
              out.push_back({at, Leave{Leave::Kind::Cycle, left_by(around_, x.value().v, at)}});
            },
            [&](const Indirection<fp::StopStmt>& x) {
              std::optional<Stop> stop = read_stop(x.value(), at);
              if (!stop) keep("stop");
              out.push_back({at, stop ? std::move(*stop) : Stop{{}, 0, true}});
              out.push_back({at, Leave{Leave::Kind::Return}});
            },
            [&](const Indirection<fp::PrintStmt>& x) {
              if (!skip_output_) output(read_print(x.value(), s, source, at, moved_), at, out);
            },
            [&](const Indirection<fp::WriteStmt>& x) {
              if (auto made = read_write(x.value(), s, source, at, skip_output_, moved_))
                output(std::move(*made), at, out);
            },
            [&](const Indirection<fp::ReadStmt>&) { keep("read"); },
            [&](const Indirection<fp::WhereStmt>& x) {
              if (has_moved) return keep("where");
              where(x.value(), at, out);
            },
            [&](const Indirection<fp::ForallStmt>& x) {
              if (has_moved) return keep("forall");
              forall(x.value(), at, out);
            },
            [&](const Indirection<fp::AllocateStmt>& x) {
              if (!is_of_own(x.value(), routine_)) return keep("allocate");
              read_allocation(x.value(), at, routine_, out);
            },
            [&](const Indirection<fp::DeallocateStmt>& x) {
              if (!is_of_own(x.value(), routine_)) return keep("deallocate");
              read_deallocation(x.value(), at, routine_, out);
            },
            [&](const Indirection<fp::ArithmeticIfStmt>& x) { jump_by_sign(x.value(), at, out); },
            [&](const Indirection<fp::ComputedGotoStmt>& x) { jump_by_number(x.value(), at, out); },
            [&](const Indirection<fp::OpenStmt>&) { keep("open"); },
            [&](const Indirection<fp::CloseStmt>&) { keep("close"); },
            [&](const Indirection<fp::InquireStmt>&) { keep("inquire"); },
            [&](const Indirection<fp::FlushStmt>&) { keep("flush"); },
            [&](const Indirection<fp::RewindStmt>&) { keep("rewind"); },
            [&](const Indirection<fp::BackspaceStmt>&) { keep("backspace"); },
            [&](const Indirection<fp::EndfileStmt>&) { keep("endfile"); },
            [&](const Indirection<fp::PointerAssignmentStmt>& x) {
              const bool procedure = procedure_pointer_of(x.value());
              if (has_moved || (procedure && !copies_procedure(x.value(), at, out)))
                return keep("assignment");
              if (!procedure) read_pointer_assignment(x.value(), at, routine_, out);
            },
            [&](const Indirection<fp::NullifyStmt>& x) {
              if (has_moved) return keep("nullify");
              read_nullify(x.value(), at, routine_, out);
            },
            [&](const auto&) {
              const std::string text = source.ToString();
              const auto end = std::find_if(text.begin(), text.end(), [](unsigned char c) {
                return std::isalnum(c) == 0 && c != '_';
              });
              unsupported(at, fmt::format("the statement `{}`", std::string(text.begin(), end)));
            }},
        s.u);
  }

  template <typename T>
  bool has_value(const T& e, const Span& at) const {
    try {
      value(e, at);
      return true;
    } catch (const Error&) { return false; }
  }

  // ---- Jumps.

  void jump_by_number(const fp::ComputedGotoStmt& s, const Span& at, Body& out) {
    const Expr number = once(std::get<fp::ScalarIntExpr>(s.t), "choice", at, out);
    out.push_back({at, jumps_by(number, std::get<std::list<fp::Label>>(s.t), at)});
  }

  void jump_by_sign(const fp::ArithmeticIfStmt& s, const Span& at, Body& out) {
    const Expr e = once(std::get<fp::Expr>(s.t), "sign", at, out);
    out.push_back({at, jumps_by_sign(e, s, at)});
  }

  /// The value, for several tests; of a new variable where a function gives it, which is called
  /// once.
  template <typename T>
  Expr once(const T& e, const std::string& base, const Span& at, Body& out) {
    const Expr x = tested(e, at, out);
    if (!has_call(x)) return x;
    const auto type = sem::GetExpr(nullptr, e)->GetType();
    std::optional<Type> own = type ? numeric_type(*type) : std::nullopt;
    if (type && type->category() == TypeCategory::Logical) own = Type(moonloop::Scalar::Bool);
    if (!own) unsupported(at, "a choice by a function's value of this type");
    const Expr out_of = new_variable(base, *own, at);
    out.push_back({at, Assignment{out_of, x}});
    return out_of;
  }

  /// The value, which Fortran computes before where C does not know the memory of its variables.
  template <typename T>
  Expr tested(const T& e, const Span& at, Body& out) {
    const auto* whole = fp::Unwrap<fp::Expr>(e);
    if (!whole || !uses(*whole, moved_)) return value(e, at);
    KeptValue kept = read_kept_value(*whole, at, moved_);
    const Expr to = kept.statement.call.arguments.back() = new_variable("value", kept.type, at);
    output(std::move(kept.statement), at, out);
    return kept.logical ? Expr(Compare{CompareOp::Ne, to, lit(0)}, at) : to;
  }

  /// A new scalar of the routine, of a name like `base` that nothing in its scope has.
  Expr new_variable(const std::string& base, const Type& type, const Span& at) {
    Variable v;
    v.name = base;
    for (int i = 1; routine_.variables.count(v.name) || scope_.FindSymbol(fp::CharBlock{v.name});)
      v.name = base + "_" + std::to_string(i++);
    v.at = at;
    v.logical = type.scalar == moonloop::Scalar::Bool;
    v.type = v.logical ? Type(moonloop::Scalar::I32) : type;
    const Expr out = var(v.name, at);
    routine_.variables.emplace(v.name, std::move(v));
    return out;
  }

  /// Names of numbers are variables, set here. Others stand for what they are associated with,
  /// which is right while its subscripts, or the parts of its value, do not change.
  void associate(const fp::AssociateConstruct& x, Body& out) {
    const auto& head = std::get<fp::Statement<fp::AssociateStmt>>(x.t);
    const Span at = places_.of(head.source);
    for (const fp::Association& a : std::get<std::list<fp::Association>>(head.statement.t)) {
      const sem::Symbol& symbol = *std::get<fp::Name>(a.t).symbol;
      const SomeExpr* e = associated_value(symbol);
      if (!e) continue;
      Variable v;
      v.name = variable_name(symbol), v.at = at, v.type = *numeric_type(*e->GetType());
      const Expr to = var(v.name, at);
      routine_.variables.emplace(v.name, std::move(v));
      const auto* written = std::get_if<fp::Expr>(&std::get<fp::Selector>(a.t).u);
      const Expr from = written ? tested(*written, at, out) : to_expr(*e, at);
      out.push_back({at, Assignment{to, from}});
    }
    const Body inside = block(std::get<fp::Block>(x.t), at);
    std::set<std::string> loops;
    for (const Around& a : around_) loops.insert(a.variable);
    for (const fp::Association& a : std::get<std::list<fp::Association>>(head.statement.t)) {
      const fp::Name& name = std::get<fp::Name>(a.t);
      check_association(*name.symbol, places_.of(name.source), inside, loops, routine_, scope_);
    }
    out.insert(out.end(), inside.begin(), inside.end());
  }

  /// A variable of the block whose bounds are known only where it begins; null for none.
  const sem::Symbol* sized_in_fortran(const fp::BlockConstruct& x) const {
    if (routine_.sized_later.empty()) return nullptr;
    const auto& end = std::get<fp::Statement<fp::EndBlockStmt>>(x.t).source;
    for (const auto& [name, symbol] : scope_.context().FindScope(end))
      if (routine_.sized_later.contains(variable_name(*symbol))) return &*symbol;
    return nullptr;
  }
  void whole_block(const fp::ExecutableConstruct& c, const fp::BlockConstruct& x,
                   const sem::Symbol& sized, Body& out) {
    const Span at = places_.of(std::get<fp::Statement<fp::BlockStmt>>(x.t).source);
    const auto text = text_of_block(x);
    if (!text)
      unsupported(at, fmt::format("a `block` that has `{}`, whose bounds are known where it "
                                  "begins, and more than assignments, loops and choices,",
                                  sized.name().ToString()));
    output(read_kept(c, *text, at, moved_, &sized.owner()), at, out);
  }

  /// Its variables are the routine's, under other names where these are taken.
  void block_construct(const fp::BlockConstruct& x, Body& out) {
    const Span at = places_.of(std::get<fp::Statement<fp::BlockStmt>>(x.t).source);
    const std::size_t outer = routine_.defaults.size();
    std::set<std::string> before;
    for (const auto& [name, v] : routine_.variables) before.insert(name);
    read_block_declarations(std::get<fp::Statement<fp::EndBlockStmt>>(x.t).source, scope_, places_,
                            routine_, bounds_of_blocks_);
    Body inside;
    for (auto& [name, v] : routine_.variables) {  // each time it begins
      if (before.contains(name)) continue;
      const bool sized = !v.text && !bounds_of_blocks_[name].empty();  // it gets its memory then
      if (v.allocatable || sized)
        inside.push_back({at, Assignment{var(kAllocated + name, at), Expr(BoolLit{sized}, at)}});
      v.allocatable = v.allocatable || sized;
    }
    append(block(std::get<fp::Block>(x.t), at), inside);
    set_defaults(routine_, outer, false, inside);
    append(std::move(inside), out);
  }

  void assignment(const fp::AssignmentStmt& s, const Span& at, Body& out) override {
    assignment(s, at, out, false);
  }

  void assignment(const fp::AssignmentStmt& s, const Span& at, Body& out, bool masked) {
    const ev::Assignment* a = sem::GetAssignment(s);
    if (!a) fail("fortran", at, "Flang gives this assignment no type");
    if (!std::holds_alternative<ev::Assignment::Intrinsic>(a->u))
      unsupported(at, "an assignment that a program defines");
    const bool same_shape = !masked && moved_.same_shape.contains(a);
    check_memory_of(*a, masked || same_shape, at);
    std::vector<Assignment> all;
    if (const auto& e = std::get<fp::Expr>(s.t); uses(e, moved_))
      all.push_back({to_expr(a->lhs, at), tested(e, at, out)});
    else
      all = to_assignments(a->lhs, a->rhs, at);
    for (Assignment& x : all) {
      if (const auto* test = x.to.as<Compare>()) x.to = test->left;  // a logical one, as it is kept
      if (const auto* part = x.to.as<Call>();
          part && (part->name == "real" || part->name == "imag"))
        x = whole_complex(*part, x.value, a->lhs.GetType().value().kind(), at);
      if (same_shape)  // it would get memory if it had none
        out.push_back(
            {at, Assignment{var(kAllocated + written_name(x.to), at), Expr(BoolLit{true})}});
      out.push_back({at, std::move(x)});
    }
  }

  // ---- Many elements at once.

  void where(const fp::WhereStmt& s, const Span& at, Body& out) {
    Where w;
    auto body = std::make_shared<Body>();
    assignment(std::get<fp::AssignmentStmt>(s.t), at, *body, true);
    w.arms.push_back({value(std::get<fp::LogicalExpr>(s.t), at), std::move(body)});
    out.push_back({at, std::move(w)});
  }

  void where(const fp::WhereConstruct& x, Body& out) {
    const auto& head = std::get<fp::Statement<fp::WhereConstructStmt>>(x.t);
    const Span at = places_.of(head.source);
    Where w;
    w.arms.push_back({value(std::get<fp::LogicalExpr>(head.statement.t), at),
                      where_body(std::get<std::list<fp::WhereBodyConstruct>>(x.t))});
    for (const auto& e : std::get<std::list<fp::WhereConstruct::MaskedElsewhere>>(x.t)) {
      const auto& test = std::get<fp::Statement<fp::MaskedElsewhereStmt>>(e.t);
      w.arms.push_back({value(std::get<fp::LogicalExpr>(test.statement.t), places_.of(test.source)),
                        where_body(std::get<std::list<fp::WhereBodyConstruct>>(e.t))});
    }
    if (const auto& e = std::get<std::optional<fp::WhereConstruct::Elsewhere>>(x.t))
      w.arms.push_back({Expr(), where_body(std::get<std::list<fp::WhereBodyConstruct>>(e->t))});
    out.push_back({at, std::move(w)});
  }

  std::shared_ptr<Body> where_body(const std::list<fp::WhereBodyConstruct>& all) {
    auto out = std::make_shared<Body>();
    for (const fp::WhereBodyConstruct& c : all)
      std::visit(
          Fortran::common::visitors{[&](const fp::Statement<fp::AssignmentStmt>& s) {
                                      assignment(s.statement, places_.of(s.source), *out, true);
                                    },
                                    [&](const fp::Statement<fp::WhereStmt>& s) {
                                      where(s.statement, places_.of(s.source), *out);
                                    },
                                    [&](const Fortran::common::Indirection<fp::WhereConstruct>& w) {
                                      where(w.value(), *out);
                                    }},
          c.u);
    return out;
  }

  Forall header(const fp::ConcurrentHeader& h, const Span& at) const {
    Forall f;
    for (const fp::ConcurrentControl& c : std::get<std::list<fp::ConcurrentControl>>(h.t)) {
      const auto& step = std::get<3>(c.t);
      f.ranges.push_back({std::get<0>(c.t).ToString(), without_casts(value(std::get<1>(c.t), at)),
                          without_casts(value(std::get<2>(c.t), at)),
                          step ? without_casts(value(*step, at)) : Expr()});
    }
    if (const auto& mask = std::get<std::optional<fp::ScalarLogicalExpr>>(h.t))
      f.mask = value(*mask, at);
    f.body = std::make_shared<Body>();
    return f;
  }

  void forall_assignment(const fp::ForallAssignmentStmt& s, const Span& at, Body& out) {
    const auto* a = std::get_if<fp::AssignmentStmt>(&s.u);
    if (!a) unsupported(at, "an assignment to a pointer");
    assignment(*a, at, out);
  }

  void forall(const fp::ForallStmt& s, const Span& at, Body& out) {
    Forall f = header(std::get<0>(s.t).value(), at);
    forall_assignment(std::get<1>(s.t).statement, at, *f.body);
    out.push_back({at, std::move(f)});
  }

  void forall(const fp::ForallConstruct& x, Body& out) {
    const auto& head = std::get<fp::Statement<fp::ForallConstructStmt>>(x.t);
    const Span at = places_.of(head.source);
    Forall f = header(std::get<1>(head.statement.t).value(), at);
    for (const fp::ForallBodyConstruct& c : std::get<std::list<fp::ForallBodyConstruct>>(x.t))
      std::visit(Fortran::common::visitors{
                     [&](const fp::Statement<fp::ForallAssignmentStmt>& s) {
                       forall_assignment(s.statement, places_.of(s.source), *f.body);
                     },
                     [&](const fp::Statement<fp::ForallStmt>& s) {
                       forall(s.statement, places_.of(s.source), *f.body);
                     },
                     [&](const Fortran::common::Indirection<fp::ForallConstruct>& inner) {
                       forall(inner.value(), *f.body);
                     },
                     [&](const fp::Statement<fp::WhereStmt>& s) {
                       where(s.statement, places_.of(s.source), *f.body);
                     },
                     [&](const fp::WhereConstruct& w) { where(w, *f.body); }},
                 c.u);
    out.push_back({at, std::move(f)});
  }

  void concurrent(const fp::DoConstruct& d, const Span& at, Body& out) {
    const auto& control = std::get<fp::LoopControl::Concurrent>(d.GetLoopControl()->u);
    Forall f = header(std::get<fp::ConcurrentHeader>(control.t), at);
    f.concurrent = true;
    for (const fp::LocalitySpec& l : std::get<std::list<fp::LocalitySpec>>(control.t))
      read_locality(l, at, f);
    const auto& head = std::get<fp::Statement<fp::NonLabelDoStmt>>(d.t);
    const auto& label = std::get<std::optional<fp::Name>>(head.statement.t);
    for (std::size_t i = 0; i < f.ranges.size(); ++i)
      around_.push_back({label ? label->ToString() : ""});
    *f.body = body_of(d, at);
    around_.resize(around_.size() - f.ranges.size());
    out.push_back({at, std::move(f)});
  }

  /// Statements of a construct, which leave it where it has a name.
  template <typename Make>
  void named(const std::optional<fp::Name>& name, const Span& at, Body& out, const Make& make) {
    if (!name) return make(out);
    around_.push_back({name->ToString(), false});
    auto body = std::make_shared<Body>();
    make(*body);
    around_.pop_back();
    out.push_back({at, Scope{std::move(body)}});
  }

  void loop(const fp::DoConstruct& d, Body& out) override {
    const auto& head = std::get<fp::Statement<fp::NonLabelDoStmt>>(d.t);
    const Span at = places_.of(head.source);
    mark(head, out);
    if (d.IsDoConcurrent()) return concurrent(d, at, out);
    const auto& label = std::get<std::optional<fp::Name>>(head.statement.t);
    if (!d.IsDoNormal()) return endless(d, label ? label->ToString() : "", at, out);
    const auto& bounds = std::get<fp::LoopControl::Bounds>(d.GetLoopControl()->u);
    Do x;
    const fp::Name& name = bounds.name.thing;
    if (const auto type = ev::DynamicType::From(name.symbol->GetUltimate());
        !type || type->category() != TypeCategory::Integer)
      unsupported(at,
                  fmt::format("the loop variable `{}`, which is not an integer", name.ToString()));
    x.variable = variable_name(*name.symbol);
    x.from = without_casts(tested(bounds.lower, at, out));
    x.to = without_casts(tested(bounds.upper, at, out));
    if (bounds.step) x.step = without_casts(tested(*bounds.step, at, out));
    around_.push_back({label ? label->ToString() : "", true, x.variable});
    x.body = std::make_shared<Body>(body_of(d, at));
    around_.pop_back();
    out.push_back({at, std::move(x)});
  }

  /// With a label of its end.
  Body body_of(const fp::DoConstruct& d, const Span& at) {
    Body out = block(std::get<fp::Block>(d.t), at);
    mark(std::get<fp::Statement<fp::EndDoStmt>>(d.t), out);
    return out;
  }

  /// `do while`, or `do` without bounds: without a variable, and with its exit.
  void endless(const fp::DoConstruct& d, const std::string& label, const Span& at, Body& out) {
    Do x;
    Body all;
    if (d.IsDoWhile()) {
      Choice c;
      const auto& condition = std::get<fp::ScalarLogicalExpr>(d.GetLoopControl()->u);
      auto leave = std::make_shared<Body>();
      leave->push_back({at, Leave{Leave::Kind::Exit}});
      c.arms.push_back({negation(tested(condition, at, all)), std::move(leave)});
      all.push_back({at, std::move(c)});
    }
    around_.push_back({label});
    const Body inner = body_of(d, at);
    around_.pop_back();
    all.insert(all.end(), inner.begin(), inner.end());
    x.body = std::make_shared<Body>(std::move(all));
    out.push_back({at, std::move(x)});
  }

  void choice(const fp::IfConstruct& x, Body& out) {
    const auto& head = std::get<fp::Statement<fp::IfThenStmt>>(x.t);
    const Span at = places_.of(head.source);
    mark(head, out);
    Choice c;
    Body* around = &out;
    const auto arm = [&](const fp::ScalarLogicalExpr& condition, const fp::Block& b,
                         const Span& place) {
      if (!c.arms.empty() && uses(condition.thing.thing.value(), moved_)) {  // asked only then
        auto rest = std::make_shared<Body>();
        c.arms.push_back({Expr(), rest});
        around->push_back({at, std::exchange(c, {})});
        around = rest.get();
      }
      const Expr holds = tested(condition, place, *around);
      c.arms.push_back({holds, std::make_shared<Body>(block(b, place))});
    };
    arm(std::get<fp::ScalarLogicalExpr>(head.statement.t), std::get<fp::Block>(x.t), at);
    for (const auto& e : std::get<std::list<fp::IfConstruct::ElseIfBlock>>(x.t)) {
      const auto& test = std::get<fp::Statement<fp::ElseIfStmt>>(e.t);
      arm(std::get<fp::ScalarLogicalExpr>(test.statement.t), std::get<fp::Block>(e.t),
          places_.of(test.source));
    }
    if (const auto& e = std::get<std::optional<fp::IfConstruct::ElseBlock>>(x.t)) {
      const Span place = places_.of(std::get<fp::Statement<fp::ElseStmt>>(e->t).source);
      c.arms.push_back({Expr(), std::make_shared<Body>(block(std::get<fp::Block>(e->t), place))});
    }
    around->push_back({at, std::move(c)});
    mark(std::get<fp::Statement<fp::EndIfStmt>>(x.t), out);
  }

  /// The arms' conditions exclude each other, so the default may be anywhere: it is put last.
  void select(const fp::CaseConstruct& x, Body& out) {
    const auto& head = std::get<fp::Statement<fp::SelectCaseStmt>>(x.t);
    const Span at = places_.of(head.source);
    mark(head, out);
    const fp::Expr& selector = std::get<fp::Scalar<fp::Expr>>(head.statement.t).thing;
    const Expr of = once(selector, "selected", at, out);
    const auto type = sem::GetExpr(nullptr, selector)->GetType();
    const bool texts = type && type->category() == TypeCategory::Character;
    Choice c;
    Choice::Arm otherwise;
    for (const auto& arm : std::get<std::list<fp::CaseConstruct::Case>>(x.t)) {
      const auto& test = std::get<fp::Statement<fp::CaseStmt>>(arm.t);
      const Span place = places_.of(test.source);
      auto body = std::make_shared<Body>(block(std::get<fp::Block>(arm.t), place));
      const auto& which = std::get<fp::CaseSelector>(test.statement.t).u;
      const auto* ranges = std::get_if<std::list<fp::CaseValueRange>>(&which);
      if (!ranges) {
        otherwise.body = std::move(body);
        continue;
      }
      Exprs any;
      for (const fp::CaseValueRange& r : *ranges) any.push_back(within(of, texts, r, place));
      c.arms.push_back({any.size() == 1 ? any[0] : Expr(Nary{NaryOp::Or, any}, place), body});
    }
    if (otherwise.body && c.arms.empty()) {
      out.insert(out.end(), otherwise.body->begin(), otherwise.body->end());
      return mark(std::get<fp::Statement<fp::EndSelectStmt>>(x.t), out);
    }
    if (otherwise.body) c.arms.push_back(std::move(otherwise));
    if (!c.arms.empty()) out.push_back({at, std::move(c)});
    mark(std::get<fp::Statement<fp::EndSelectStmt>>(x.t), out);
  }

  void output(OutputStatement s, const Span& at, Body& out) {
    formats_.need(s, at);
    Expr way;
    if (!s.labels.empty()) {
      way = s.call.arguments.back() = new_variable("way", moonloop::Scalar::I32, at);
      for (SubroutineCall& other : s.call.otherwise) other.arguments.back() = way;
    }
    put_call(std::move(s.call), std::move(s.conditional), at, out);
    for (Assignment& a : s.after) out.push_back({at, std::move(a)});
    if (way) out.push_back({at, jumps_by(way, s.labels, at)});
  }

  /// The call, without the arguments whose conditions do not hold.
  void put_call(SubroutineCall c, std::vector<std::pair<std::size_t, Expr>> conditional,
                const Span& at, Body& out) const {
    if (conditional.empty()) return out.push_back({at, std::move(c)});
    const auto [number, there] = conditional.back();
    conditional.pop_back();
    SubroutineCall without = c;
    const auto own = routine_.variables.find(written_name(c.arguments.at(number)));
    if (own != routine_.variables.end() && !own->second.dummy)
      without.otherwise.clear();  // for Fortran, C's memory is there
    without.arguments[number] = call(kAbsent, {}, at);
    Choice x;
    const auto arm = [&](const Expr& condition, SubroutineCall own) {
      auto inner = std::make_shared<Body>();
      put_call(std::move(own), conditional, at, *inner);
      x.arms.push_back({condition, std::move(inner)});
    };
    arm(there, std::move(c));
    arm(Expr(), std::move(without));
    out.push_back({at, std::move(x)});
  }

  const sem::Scope& scope_;
  bool skip_output_;
  Moved moved_;
  std::vector<Diagnostic> errors_;
  std::map<std::string, std::set<std::string>> bounds_of_blocks_;  // names in them, by variable
  Formats formats_;
  std::vector<Around> around_;  // the current statement
  std::size_t entries_ = 0;     // before it
};

}  // namespace

Body read_body(const fp::Block& block, const Span& around, const sem::Scope& scope,
               const Places& places, bool skip_output, const ProcedureEffects& procedures,
               Routine& routine) {
  Reader reader(scope, places, skip_output, block, procedures, routine);
  Body out = reader.block(block, around);
  reader.throw_errors();
  reader.check_blocks(out);
  reader.end(out);
  return out;
}

}  // namespace moonloop::fortran
