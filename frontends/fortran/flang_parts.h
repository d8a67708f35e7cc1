#pragma once
#include "frontends/fortran/flang.h"
#include "frontends/fortran/sections.h"

// Parts of statements that need nothing of the statements around them.
namespace moonloop::fortran {

inline Choice::Arm jump_if(const Expr& condition, fp::Label label, const Span& at) {
  return {condition, std::make_shared<Body>(Body{{at, Jump{label}}})};
}

/// To the label whose place in the list, from 1, is `number`; to none for other numbers.
inline Choice jumps_by(const Expr& number, const std::list<fp::Label>& to, const Span& at) {
  Choice c;
  for (const fp::Label label : to) {
    const Expr own = lit(std::int64_t(c.arms.size()) + 1);
    c.arms.push_back(jump_if(Expr(Compare{CompareOp::Eq, number, own}, at), label, at));
  }
  return c;
}

/// To one of three labels, for numbers below zero, zero and above.
inline Choice jumps_by_sign(const Expr& e, const fp::ArithmeticIfStmt& s, const Span& at) {
  Choice c;
  c.arms.push_back(jump_if(Expr(Compare{CompareOp::Lt, e, lit(0)}, at), std::get<1>(s.t), at));
  c.arms.push_back(jump_if(Expr(Compare{CompareOp::Eq, e, lit(0)}, at), std::get<2>(s.t), at));
  c.arms.push_back(jump_if(Expr(), std::get<3>(s.t), at));
  return c;
}

/// A construct that statements may leave, and its name, if any.
struct Around {
  std::string name;
  bool loop = true;
  std::string variable = {};  // of a loop with bounds
};
/// Which construct `exit` or `cycle` means, from the innermost one on.
inline int left_by(const std::vector<Around>& around, const std::optional<fp::Name>& name,
                   const Span& at) {
  for (std::size_t n = around.size(); n-- > 0;)
    if (name ? around[n].name == name->ToString() : around[n].loop)
      return static_cast<int>(around.size() - 1 - n);
  unsupported(at, fmt::format("leaving {}, which is a construct of another kind,",
                              name ? "`" + name->ToString() + "`" : "this"));
}

/// What says at which alternate return the routine ends.
inline Expr alternate_return(const Routine& routine, const Span& at) {
  for (const auto& [name, v] : routine.variables)
    if (!v.alternates.empty()) return var(name, at);
  unsupported(at, "`return` with a value");
}

/// `allocate` or `deallocate` of other variables than local ones.
inline bool gives_memory(const fp::ActionStmt& s, const Routine& routine) {
  using Fortran::common::Indirection;
  const auto* a = std::get_if<Indirection<fp::AllocateStmt>>(&s.u);
  const auto* d = std::get_if<Indirection<fp::DeallocateStmt>>(&s.u);
  return (a && !is_of_own(a->value(), routine)) || (d && !is_of_own(d->value(), routine));
}

inline bool has_call(const Expr& e) {
  bool calls = false;
  walk(e, [&](const Expr& part) {
    calls = calls || !called(part, kFunction).empty() || !called(part, kElemental).empty();
    return !calls;
  });
  return calls;
}

/// Whether a directive is about a loop that threads share which are there already.
inline bool needs_region(llvm::omp::Directive id) {
  return id == llvm::omp::Directive::OMPD_do || id == llvm::omp::Directive::OMPD_do_simd;
}

/// What `local` and `local_init` of `do concurrent` say; what iterations share is proved.
inline void read_locality(const fp::LocalitySpec& l, const Span& at, Forall& f) {
  if (const auto* local = std::get_if<fp::LocalitySpec::Local>(&l.u))
    for (const fp::Name& n : local->v) f.locals.push_back(n.ToString());
  if (const auto* local = std::get_if<fp::LocalitySpec::LocalInit>(&l.u))
    for (const fp::Name& n : local->v) {
      if (n.symbol->Rank() > 0) unsupported(at, "an array in `local_init`");
      f.locals.push_back(n.ToString());
      f.initials.push_back(n.ToString());
    }
}

}  // namespace moonloop::fortran
