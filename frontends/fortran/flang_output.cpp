#include "core/base/diagnostic.h"
#include "core/model/external.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/sections.h"

// Statements that print, and those that end the program.
namespace moonloop::fortran {
namespace {

std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

/// One statement: what it prints are arguments of a routine that does it.
class Printing {
 public:
  Printing(std::string_view what, const Span& at) : what_(what), at_(at) {}

  void unit(const fp::IoUnit& u) {
    if (std::holds_alternative<fp::Variable>(u.u)) fail("`write` into a variable");
    if (std::holds_alternative<fp::Star>(u.u)) return control("*");
    const auto* e = std::get_if<Fortran::common::Indirection<fp::Expr>>(&u.u);
    const SomeExpr& value = typed(e->value());
    const auto number = ev::ToInt64(value);
    control(number ? std::to_string(*number) : argument(value));
  }

  void format(const fp::Format& f) {
    if (std::holds_alternative<fp::Star>(f.u)) return control("*");
    if (const auto* label = std::get_if<fp::Label>(&f.u)) {
      control("");
      out_.format = *label;
      out_.place = text_.size();
      return;
    }
    const auto text = as_text(to_arguments(typed(std::get<fp::Expr>(f.u)), at_).at(0));
    if (!text) fail("a format that is not a constant");
    control(in_quotes(*text));
  }

  void control(const fp::IoControlSpec& c) {
    std::visit(Fortran::common::visitors{
                   [&](const fp::IoUnit& u) { unit(u); }, [&](const fp::Format& f) { format(f); },
                   [&](const fp::IoControlSpec::CharExpr& x) {
                     const auto& [kind, value] = x.t;
                     const auto text = as_text(to_arguments(typed(value), at_).at(0));
                     if (!text) fail("a control that is not a constant");
                     std::string name(fp::IoControlSpec::CharExpr::EnumToString(kind));
                     for (char& l : name) l = static_cast<char>(std::tolower(l));
                     control(name + "=" + in_quotes(*text));
                   },
                   [&](const auto&) { fail(fmt::format("this control of `{}`", what_)); }},
               c.u);
  }

  void items(const std::list<fp::OutputItem>& all) {
    text_ = "write (" + text_ + ")";
    if (out_.format) out_.place += std::string_view("write (").size();
    std::string separator = " ";
    for (const fp::OutputItem& i : all) {
      const auto* e = std::get_if<fp::Expr>(&i.u);
      if (!e) fail(fmt::format("an implied `do` in `{}`", what_));
      text_ += separator + item(typed(*e));
      separator = ", ";
    }
  }

  OutputStatement done() {
    output_.statement = std::move(text_);
    out_.output = std::make_shared<Output>(std::move(output_));
    out_.call = {"an output statement", std::move(arguments_), {}, out_.output};
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    unsupported(at_, what, "--skip-output leaves it out");
  }

  template <typename T>
  static const SomeExpr& typed(const T& e) {
    const SomeExpr* out = sem::GetExpr(nullptr, e);
    if (!out) throw InternalError("Flang gives an expression no type");
    return *out;
  }

  void control(const std::string& text) { text_ += (text_.empty() ? "" : ", ") + text; }

  std::string item(const SomeExpr& e) {
    const auto text = as_text(first_of_arguments(e));
    return text ? in_quotes(*text) : argument(e);
  }

  Expr first_of_arguments(const SomeExpr& e) const {
    const Exprs all = to_arguments(e, at_);
    if (all.size() != 1) fail(fmt::format("a value of a derived type in `{}`", what_));
    return all[0];
  }

  /// The name of a new argument with the value.
  std::string argument(const SomeExpr& e) {
    const std::string type = type_of(e);
    const Expr value = first_of_arguments(e);
    std::string shape;
    if (e.Rank() > 0) {
      const auto* array = value.as<Var>();
      if (!array) fail(fmt::format("part of an array, or an expression of arrays, in `{}`", what_));
      for (int axis = 1; axis <= e.Rank(); ++axis) {
        const auto bound = [&](const char* end) {
          return call(std::string(kBound) + end, {value, lit(axis)}, at_);
        };
        shape += (shape.empty() ? "(" : ", ") +
                 add("integer(4)", length(bound("lbound"), bound("ubound"), 1), "");
      }
      shape += ")";
    }
    return add(type, value, shape);
  }

  std::string add(const std::string& type, const Expr& value, const std::string& shape) {
    arguments_.push_back(value);
    const std::string name = "a" + std::to_string(arguments_.size());
    output_.declarations.push_back(type + ", intent(in) :: " + name + shape);
    return name;
  }

  std::string type_of(const SomeExpr& e) const {
    const auto type = e.GetType();
    if (!type) throw InternalError("Flang gives an expression no type");
    if (type->category() == TypeCategory::Character && type->kind() == 1) return "character(*)";
    if (type->category() == TypeCategory::Logical)
      return fmt::format("logical({})", e.Rank() > 0 || ev::IsVariable(e) ? type->kind() : 4);
    const auto number = numeric_type(*type);
    if (!number || number->scalar == Scalar::F16)
      fail(fmt::format("a value of type {} in `{}`", type->AsFortran(), what_));
    const char* name = type->category() == TypeCategory::Integer ? "integer"
                       : type->category() == TypeCategory::Real  ? "real"
                                                                 : "complex";
    return fmt::format("{}({})", name, type->kind());
  }

  std::string_view what_;
  Span at_;
  std::string text_;
  Exprs arguments_;
  Output output_;
  OutputStatement out_;
};

}  // namespace

bool assigns_variables(const fp::WriteStmt& s) {
  const auto is_place = [](const fp::IoUnit& u) {
    return std::holds_alternative<fp::Variable>(u.u);  // text, no unit
  };
  return (s.iounit && is_place(*s.iounit)) ||
         std::any_of(s.controls.begin(), s.controls.end(), [&](const fp::IoControlSpec& c) {
           const auto* unit = std::get_if<fp::IoUnit>(&c.u);
           return (unit && is_place(*unit)) || std::holds_alternative<fp::StatVariable>(c.u) ||
                  std::holds_alternative<fp::MsgVariable>(c.u) ||
                  std::holds_alternative<fp::IdVariable>(c.u) ||
                  std::holds_alternative<fp::IoControlSpec::Size>(c.u) ||
                  std::holds_alternative<fp::ErrLabel>(c.u);
         });
}

OutputStatement read_output(const fp::WriteStmt& s, const Span& at) {
  Printing p("write", at);
  if (s.iounit) p.unit(*s.iounit);
  if (s.format) p.format(*s.format);
  for (const fp::IoControlSpec& c : s.controls) p.control(c);
  p.items(s.items);
  return p.done();
}

OutputStatement read_output(const fp::PrintStmt& s, const Span& at) {
  Printing p("print", at);
  p.unit(fp::IoUnit{fp::Star{}});
  p.format(std::get<fp::Format>(s.t));
  p.items(std::get<std::list<fp::OutputItem>>(s.t));
  return p.done();
}

Stop read_stop(const fp::StopStmt& s, const Span& at) {
  const auto& [kind, code, quiet] = s.t;
  const bool error = kind == fp::StopStmt::Kind::ErrorStop;
  Stop x{error ? "ERROR STOP" : "", error ? 1 : 0};
  if (quiet) unsupported(at, "`quiet` of `stop`");
  if (!code) return x;
  const SomeExpr* typed = sem::GetExpr(nullptr, code->v.thing);
  if (!typed) throw InternalError("Flang gives an expression no type");
  const Exprs values = to_arguments(*typed, at);
  const auto number = as_int(without_casts(values.at(0)));
  const auto text = as_text(values[0]);
  if (!number && !text) unsupported(at, "a code of `stop` that is not a constant");
  if (number) x.status = *number;
  x.text = (error ? "ERROR STOP " : "STOP ") + (text ? *text : std::to_string(*number));
  return x;
}

}  // namespace moonloop::fortran
