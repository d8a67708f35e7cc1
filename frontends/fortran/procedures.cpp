#include "frontends/fortran/procedures.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/model/external.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/output.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {
namespace {

/// One call as a routine of the interface.
class ByFortran {
 public:
  ByFortran(const SubroutineCall& x, const Routine& r) : x_(x), r_(r) {}

  SubroutineCall made() {
    out_.name = "a call in Fortran";
    out_.effects = x_.effects;
    output_.what = "call";
    intrinsic_ = x_.name.starts_with(kIntrinsic);
    output_.calls = !intrinsic_;
    if (!intrinsic_)
      output_.uses.insert(
          "  use, intrinsic :: iso_c_binding, only: c_f_procpointer, c_null_funptr\n");
    std::string callee, given;
    for (std::size_t n = 0; n < x_.arguments.size(); ++n) {
      const Expr& a = x_.arguments[n];
      if (as_text_length(a)) {
        out_.arguments.push_back(a);
        continue;
      }
      const bool is_callee = n == 0 && x_.name == kThrough;
      const std::string name = is_procedure(a) ? procedure(a, is_callee) : value(a, n);
      if (is_callee)
        callee = name;
      else
        given += (given.empty() ? "" : ", ") + name;
    }
    if (intrinsic_) callee = bare();
    if (callee.starts_with("ieee_"))
      output_.uses.insert("  use, intrinsic :: ieee_arithmetic, only: " + callee + "\n");
    else if (intrinsic_)
      declarations_ += "intrinsic :: " + callee + "\n  ";
    if (callee.empty())
      callee = pointer_to(declared(x_.name, type_of_function()), type_of_function());
    const std::string result = x_.result ? value(x_.result, x_.arguments.size()) : "";
    output_.statement = declarations_ + before_ + (result.empty() ? "call " : result + " = ") +
                        callee + "(" + given + ")";
    out_.output = std::make_shared<const Output>(std::move(output_));
    return std::move(out_);
  }

 private:
  std::string bare() const { return x_.name.substr(std::string_view(kIntrinsic).size()); }
  std::string type_of_function() const { return x_.result ? x_.declared.back() : ""; }

  std::string value(const Expr& a, std::size_t n) {
    const bool place = a.as<Var>() || a.as<Load>();
    const Variable* v = place ? &r_.variables.at(written_name(a)) : nullptr;
    const std::size_t letters = v && v->text ? 1 : 0;
    const std::string name = next(a);
    output_.declarations.push_back(x_.declared.at(n) + " :: " + name +
                                   (!intrinsic_ && v && v->bounds.size() > letters ? "(*)" : ""));
    if (place && (!intrinsic_ || n == x_.arguments.size()))
      output_.changes.insert(output_.declarations.size() - 1);
    return name;
  }

  /// The name of a pointer to a procedure that is passed or called.
  std::string procedure(const Expr& a, bool is_callee) {
    const std::string type = is_callee ? type_of_function() : "", own = called(a, kProcedure);
    if (own != kThrough) {
      const std::string name = known(a, is_callee ? type : "");
      return is_callee ? pointer_to(name, type) : name;
    }
    const std::string address = next(a.as<Call>()->args.at(0)), name = new_pointer(type);
    output_.declarations.push_back("integer(8), intent(in) :: " + address);
    before_ +=
        fmt::format("call c_f_procpointer(transfer({}, c_null_funptr), {})\n  ", address, name);
    return name;
  }

  /// The name of a procedure, which is declared, or its module's.
  std::string known(const Expr& a, const std::string& type) {
    const std::string whole = called(a, kProcedure), name = bare_name(whole);
    if (name == whole) return declared(name, type);
    const std::string module = whole.substr(0, whole.find("::"));
    if (a.as<Call>()->args.empty())
      output_.uses.insert("  use " + module + ", only: " + name + "\n");
    else
      output_.module = module;
    return name;
  }

  std::string declared(const std::string& name, const std::string& type) {
    declarations_ += (type.empty() ? "" : type + ", ") + "external :: " + name + "\n  ";
    return name;
  }

  /// Through a pointer, a call may pass arrays where others pass elements.
  std::string pointer_to(const std::string& name, const std::string& type) {
    const std::string out = new_pointer(type);
    before_ += out + " => " + name + "\n  ";
    return out;
  }

  std::string new_pointer(const std::string& type) {
    const std::string name = free("p" + std::to_string(++pointers_));
    declarations_ += fmt::format("procedure({}), pointer :: {}\n  ", type, name);
    return name;
  }

  /// The name of the next argument.
  std::string next(const Expr& a) {
    out_.arguments.push_back(a);
    return free("a" + std::to_string(output_.declarations.size() + 1));
  }

  /// Not that of a procedure.
  std::string free(std::string name) const {
    const auto taken = [&](const std::string& n) {
      return n == x_.name || (intrinsic_ && n == bare()) ||
             std::any_of(x_.arguments.begin(), x_.arguments.end(),
                         [&](const Expr& a) { return bare_name(called(a, kProcedure)) == n; });
    };
    while (taken(name)) name += "_";
    return name;
  }

  const SubroutineCall& x_;
  const Routine& r_;
  SubroutineCall out_;
  Output output_;
  std::string declarations_, before_;
  int pointers_ = 0;
  bool intrinsic_ = false;
};

}  // namespace

Expr procedure_named(const std::string& name, const Span& at, bool is_private) {
  return call(kProcedure + name, is_private ? Exprs{Expr(BoolLit{true}, at)} : Exprs{}, at);
}
Expr procedure_in(const Expr& argument, const Span& at) {
  return is_procedure(argument) ? argument
                                : call(std::string(kProcedure) + kThrough, {argument}, at);
}
bool is_procedure(const Expr& e) { return !called(e, kProcedure).empty(); }

std::string type_in_fortran(const Type& t, const Span& at) {
  switch (t.scalar) {
    case moonloop::Scalar::Bool: return "logical(4)";
    case moonloop::Scalar::I8:
    case moonloop::Scalar::I16:
    case moonloop::Scalar::I32:
    case moonloop::Scalar::I64: return fmt::format("integer({})", t.size());
    case moonloop::Scalar::F32:
    case moonloop::Scalar::F64: return fmt::format("real({})", t.size());
    case moonloop::Scalar::C64:
    case moonloop::Scalar::C128: return fmt::format("complex({})", t.size() / 2);
    default:
      fail("unsupported", at,
           "an argument of type {} in a call that Fortran makes is not supported in Fortran "
           "kernels",
           t.str());
  }
}

bool is_for_fortran(const SubroutineCall& x) { return !x.declared.empty(); }

std::string declared_type(const Expr& e, const Expr& given, const Routine& r,
                          const std::vector<Routine>& all, const Span& at) {
  if (is_procedure(e)) return "integer(8)";
  if (as_text(given) || as_letters(given)) return "character(*)";
  const Expr place = place_of(e, r);
  const Variable* v = place ? &r.variables.at(written_name(place)) : nullptr;
  if (v && v->character) return "character(*)";
  if (v && v->logical) return fmt::format("logical({})", v->type.size());
  if (!v && type_of(e, r, all) == Type(moonloop::Scalar::Bool)) return "logical(4)";
  return type_in_fortran(v ? v->type : type_of(given, r, all), at);
}

void call_procedures(Routine& routine) {
  const std::function<void(Body&)> visit = [&](Body& b) {
    for (Statement& s : b) {
      if (auto* x = std::get_if<SubroutineCall>(&s.what); x && is_for_fortran(*x))
        s.what = ByFortran(*x, routine).made();
      for (auto* inner : bodies(s)) {
        *inner = std::make_shared<Body>(**inner);
        visit(**inner);
      }
    }
  };
  bool some = false;
  each(routine.body, [&](const Statement& s) {
    const auto* x = std::get_if<SubroutineCall>(&s.what);
    some = some || (x && is_for_fortran(*x));
  });
  if (some) visit(routine.body);
}

}  // namespace moonloop::fortran
