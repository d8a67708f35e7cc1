#pragma once
// Flang's headers are heavy: a file that includes this one takes a minute and 3 GB to compile, so
// they are few, and their results are in program.h.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <flang/Evaluate/expression.h>
#include <flang/Evaluate/tools.h>
#include <flang/Parser/parse-tree.h>
#include <flang/Parser/parsing.h>
#include <flang/Parser/tools.h>
#include <flang/Semantics/semantics.h>
#include <flang/Semantics/symbol.h>
#include <flang/Semantics/tools.h>
#pragma GCC diagnostic pop

#include "frontends/fortran/defaults.h"
#include "frontends/fortran/output.h"

namespace moonloop::fortran {

namespace fp = Fortran::parser;
namespace sem = Fortran::semantics;
namespace ev = Fortran::evaluate;
using Fortran::common::TypeCategory;
using SomeExpr = ev::Expr<ev::SomeType>;

class ProcedureEffects;

/// Maps pieces of the text that Flang works on to places in the user's files.
class Places {
 public:
  /// `path` is the file that Flang reads for `source`.
  Places(const Source* source, std::string path, const fp::AllCookedSources& cooked)
      : cooked_(cooked), sources_{{std::move(path), source}} {}
  /// The source that Flang reads from `path`.
  void know(const std::string& path, const Source* source) const { sources_[path] = source; }
  Span of(fp::CharBlock block) const;
  Span of(const std::optional<fp::ProvenanceRange>& range) const;
  /// The statement that has the block, with all of its lines, or several between which are `;`;
  /// empty where the block is in no file.
  fp::CharBlock statement_of(fp::CharBlock block) const;

 private:
  const fp::AllCookedSources& cooked_;
  mutable std::map<std::string, const Source*> sources_;  // by path; included files as they come
};

/// Fails for a construct that the subset does not have, by the name that Fortran gives it.
[[noreturn]] void unsupported(const Span& at, std::string_view what, std::string_view hint = {});

/// The variables of a routine.
void read_declarations(const sem::Scope& scope, const Places& places, Routine& routine);
/// Of modules and of a main program around: the constants and variables that the routine's
/// statements and bounds name. With those of common blocks, and those that are kept from call to
/// call, they are outer variables then.
void read_declarations_around(const sem::Scope& scope, const Places& places, Routine& routine);
/// The name of a variable in its routine. That of a `block` has another one than the source's
/// where the routine, or a block before, has that.
std::string variable_name(const sem::Symbol& s);
/// The variables of a `block`, whose end is at `end`, as the routine's. `names_in_bounds` gets the
/// names in the bounds of each.
void read_block_declarations(fp::CharBlock end, const sem::Scope& around, const Places& places,
                             Routine& routine,
                             std::map<std::string, std::set<std::string>>& names_in_bounds);
/// Whether a variable has texts, of other than one letter each: the letters are its first axis.
bool is_text(const sem::Symbol& symbol);
/// The same of values.
bool is_text(const std::optional<ev::DynamicType>& type);
/// Whether the caller knows how long the texts of an argument are.
bool has_assumed_length(const sem::Symbol& symbol);
/// An argument whose shape is assumed, and one of these without lower bounds.
bool is_assumed_shape(const sem::Symbol& symbol);
bool begins_at_one(const sem::Symbol& symbol);
/// Whether a variable is a module's, a main program's, or in a common block.
bool is_outer(const sem::Symbol& symbol);
/// The module in which a variable, procedure or type is, or kProgram; empty for others.
std::string holder_of(const sem::Symbol& symbol);
/// The components of a derived type, in order.
std::vector<const sem::Symbol*> components_of(const sem::DerivedTypeSpec& type, const Span& at);
/// Whether records in a component, or in those of its own, have that component too, as `next` of a
/// list does; and whether a type has such components. They are no variables of the kernel.
bool leads_back(const sem::Symbol& component);
bool is_chained(const sem::DerivedTypeSpec& type);
[[noreturn]] void refuse_chain(std::string_view component, const Span& at);
/// Fails `unsupported` for one of these.
std::string name_of_component(const sem::Symbol& component, const Span& at);
/// A bound, `lbound` or `ubound`, of an axis of a variable. Of an array of records, which is no
/// variable of the kernel, a component has it.
Expr bound_of(const char* end, std::string name, const sem::Symbol& symbol, int axis,
              const Span& at);
/// The same as a function of all of such an array; null for other arrays.
Expr bound_of_records(const std::string& end, const ev::ActualArguments& arguments, const Span& at);
/// The demands of a directive on the loops below it. Its tag is empty where there are none.
Directive read_directive(const fp::OmpDirectiveSpecification& x, const Places& places);
Directive read_directive(const fp::AccBeginCombinedDirective& x, const Places& places);
/// The same of `parallel`, `target` and others around statements, or of a standalone one; without a
/// tag.
Directive read_region(const fp::OmpDirectiveSpecification& x, const Places& places);
Directive read_region(const fp::AccBeginBlockDirective& x, const Places& places);
/// Directives that are no statement's and mean nothing here: statements are in order, and data
/// moves as each target's code moves it. Fails `unsupported` for others.
void check_standalone(const fp::OmpDirectiveSpecification& x, const Places& places);
void check_standalone(const fp::OpenACCStandaloneConstruct& x, const Places& places);
/// Fails `unsupported` for clauses other than `nowait`, which lets the next code begin early: where
/// that is legal is proved anyway.
void read_end_of_directive(const fp::OmpDirectiveSpecification& x, const Places& places);
Directive read_directive(const fp::AccBeginLoopDirective& x, const Places& places);
/// An assignment below `!$acc atomic`, and whether it is an update.
struct AtomicStep {
  const fp::Statement<fp::AssignmentStmt>* statement;
  bool update;
};
std::vector<AtomicStep> steps_of(const fp::OpenACCAtomicConstruct& x);
/// Whether `of` is the value or in the range of a `case`; `texts`: they are compared as texts.
Expr within(const Expr& of, bool texts, const fp::CaseValueRange& range, const Span& at);
/// `skip_output`: `print` and `write` are left out, else unsupported. `routine` has its own
/// variables; it gets more of them where statements need them, and directives without effect.
/// `procedures`: those that it may call.
Body read_body(const fp::Block& block, const Span& around, const sem::Scope& scope,
               const Places& places, bool skip_output, const ProcedureEffects& procedures,
               Routine& routine);
/// The same, of a routine, with its variables that get bounds in Fortran. `inner`: it contains
/// others.
void read_statements(const fp::Block& block, const sem::Scope& scope, const Places& places,
                     bool skip_output, const ProcedureEffects& procedures, bool inner, Routine& r);
/// A statement that prints, or stays Fortran. The text of its `format` statement, in quotes,
/// belongs at `place` of what the routine of `output` does; without a place, on a line of its own.
struct OutputStatement {
  SubroutineCall call;
  std::shared_ptr<Output> output;
  std::optional<fp::Label> format;
  std::size_t place = 0;
  std::vector<Assignment> after;  // what the variables of implied loops are then
  /// Arguments, by their numbers, that are there where these conditions hold.
  std::vector<std::pair<std::size_t, Expr>> conditional;
  /// Which statements may be the next one. The call's last argument, which is null here, is a
  /// variable that then has the number of the label, from 1, or 0.
  std::list<fp::Label> labels;
};
OutputStatement read_output(const fp::WriteStmt& s, const Span& at);
OutputStatement read_output(const fp::PrintStmt& s, const Span& at);
/// Whether a `write` goes into a text, not to a unit.
bool writes_into_text(const fp::WriteStmt& s);
/// Whether a `write` also assigns variables.
bool assigns_variables(const fp::WriteStmt& s);
/// Nothing where its code is not a constant, or it has `quiet`.
std::optional<Stop> read_stop(const fp::StopStmt& s, const Span& at);
/// Fails `unsupported` where a function has such an argument.
void check_there(const ev::ActualArguments& arguments, const sem::Symbol* function, const Span& at);
/// What `allocate` gives local variables of `routine`: their bounds, once. Fails `unsupported` for
/// others. `out` gets what it assigns.
void read_allocation(const fp::AllocateStmt& s, const Span& at, Routine& routine, Body& out);
/// Whether all objects of the statement are local variables.
bool is_of_own(const fp::AllocateStmt& s, const Routine& routine);
bool is_of_own(const fp::DeallocateStmt& s, const Routine& routine);
/// Whether it is a procedure whose address the kernel has: an argument, or a pointer of the
/// routine's own.
bool is_address(const sem::Symbol& s);
/// The one that an expression is; null for others.
const sem::Symbol* as_address(const SomeExpr& e);
/// The type of a function's value, `real(8)`; empty for a subroutine.
std::string procedure_type(const sem::Symbol& procedure, const Span& at);
/// The pointer to procedures, of the routine's own, that a statement makes point elsewhere; null
/// for others.
const sem::Symbol* procedure_pointer_of(const fp::PointerAssignmentStmt& s);
/// Adds what such a statement does where the procedure's address is known here, as that of an
/// argument, or null; whether it is.
bool copies_procedure(const fp::PointerAssignmentStmt& s, const Span& at, Body& out);
/// Fails where an assignment that C does may give something other memory.
/// `masked`: by a mask, as in `where`.
void check_memory_of(const ev::Assignment& a, bool masked, const Span& at);
/// `deallocate` of such variables, which end with the routine. Fails `unsupported` for others.
/// Whether a variable of the routine's own has memory, which statements that give and take it say;
/// null for others. See memory_flags.h.
Expr whether_allocated(const ev::ActualArguments& arguments, const Span& at);
/// `present` of an argument, or `associated` of a pointer: whether that points to anything.
Expr whether_present(const std::string& name, const ev::ActualArguments& arguments, const Span& at);
/// Whether an allocatable or a pointer that is a component of an argument has memory, see
/// memory_flags.h; null for others.
Expr component_has_memory(const SomeExpr& of, const Span& at);
/// Whether the argument of this number, allocatable or a pointer, has memory, which counts where
/// the callee's is optional and none of these; null where it does not.
Expr whether_there(const SomeExpr& argument, const sem::Symbol* callee, std::size_t number,
                   const Span& at);
void read_deallocation(const fp::DeallocateStmt& s, const Span& at, const Routine& routine,
                       Body& out);
/// Where pointers of the routine's own point to; of a derived type one for each component. Fails
/// `unsupported` for others.
void read_pointer_assignment(const fp::PointerAssignmentStmt& s, const Span& at,
                             const Routine& routine, Body& out);
void read_nullify(const fp::NullifyStmt& s, const Span& at, const Routine& routine, Body& out);
/// The components of a new variable `name` of the routine's own, of this derived type and shape.
void read_record(const std::string& name, const ev::DynamicType& type, std::vector<Bounds> bounds,
                 const Span& at, const Places& places, Routine& routine);
/// `integer` and so on.
std::string name_of(TypeCategory category);
/// The type of numbers; nothing for others.
std::optional<Type> numeric_type(const ev::DynamicType& t);
/// A directive of compilers, and those before the statements: IVDEP goes to `independent`.
void read_hint(const fp::CompilerDirective& x, const Places& places, Routine& routine);
void read_hints(const fp::SpecificationPart& part, const Places& places, Routine& routine);

/// The number that a name of an `associate` stands for, if it is a variable here (variable_name),
/// set where the construct begins: what it is computed from may change. Null for others.
const SomeExpr* associated_value(const sem::Symbol& s);
/// Fails `unsupported` where `inside`, for which a name of an `associate` stands for the text that
/// it is associated with, may change what this means. Nothing in a loop changes its variable:
/// `loops` are those of the loops around.
void check_association(const sem::Symbol& name, const Span& at, const Body& inside,
                       const std::set<std::string>& loops, const Routine& routine,
                       const sem::Scope& scope);
/// `e` with the place `at`. Fails `unsupported`.
Expr to_expr(const SomeExpr& e, const Span& at);
/// The same of an argument of a call, where a constant of characters is a text; of a derived type
/// one for each component.
Exprs to_arguments(const SomeExpr& e, const Span& at);
/// The expression of a derived type that `e` is; null for others.
const ev::Expr<ev::SomeDerived>* as_derived(const SomeExpr& e);
/// A bound or an extent, in which conversions between kinds of integers mean nothing.
Expr to_index(const ev::Expr<ev::SubscriptInteger>& e, const Span& at);
/// The routine's name, as Routine has it.
std::string routine_name(const sem::Symbol& s);
std::string procedure_name(const ev::ProcedureDesignator& p);
/// Whether only the program knows which procedure that is: one that a pointer points to, or that
/// Whether nothing declares a procedure that has the name of a function or subroutine which GNU
/// Fortran, and others after it, have besides the standard's and Flang does not know: their
/// compilers call these, in their own ways.
bool is_extension(const sem::Symbol& procedure);
/// the type of a variable has. Of a function, the whole statement stays Fortran.
bool is_found_at_run_time(const ev::ProcedureDesignator& p);
/// The name of a function that C calls; fails `unsupported` for others.
std::string name_of_function(const ev::ProcedureDesignator& p, const Span& at);
/// Whether at most the interface of a procedure is known here; the input may still have it next to
/// the routine. Fails `unsupported` where that interface asks for more than addresses.
bool is_in_another_file(const sem::Symbol& procedure, const Span& at);
/// Or in a submodule that is not there, and can be called.
bool may_be_in_another_file(const sem::Symbol& procedure, const Span& at);
/// A procedure that is an argument of a call: the routine's own argument, or in another file. Fails
/// `unsupported` for others.
Expr passed_procedure(const ev::ProcedureDesignator& p, const Span& at);
/// How a routine of the input that is no part of a module or of another routine is called by
/// addresses; nothing where its interface asks for more than these.
std::optional<Routine::ByAddress> by_address(const sem::Symbol& routine);
/// The elements of a constant, the first axis fastest.
std::vector<Expr> to_elements(const SomeExpr& e, const Span& at);

}  // namespace moonloop::fortran
