#include "core/base/diagnostic.h"
#include "core/model/external.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/flang_arguments.h"
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
class Printing : public OutputArguments {
 public:
  using OutputArguments::OutputArguments;

  void unit(const fp::IoUnit& u) {
    if (const auto* v = std::get_if<fp::Variable>(&u.u)) return into(typed(*v));
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
    control(text ? in_quotes(*text) : argument(typed(std::get<fp::Expr>(f.u))));
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
      text_ += separator + item(i);
      separator = ", ";
    }
  }

  OutputStatement done() {
    check_names();
    for (const auto& [name, type] : counters_)
      if (numbered_.count(name)) fail_beside(name);
    std::string before;
    for (const auto& [name, type] : counters_) before += type + " :: " + name + "\n  ";
    if (out_.format) out_.place += before.size();
    output_.statement = before + text_;
    out_.output = std::make_shared<Output>(std::move(output_));
    out_.call = {"an output statement", std::move(arguments_), {}, out_.output};
    return std::move(out_);
  }

 private:
  void control(const std::string& text) { text_ += (text_.empty() ? "" : ", ") + text; }

  /// The text that the statement writes into.
  void into(const SomeExpr& text) {
    if (text.Rank() > 0) fail("`write` into an array");
    if (!arguments_.empty()) fail("a unit that is not the first one of the controls");
    control(argument(text));
    may_change(0);
  }

  std::string item(const fp::OutputItem& i) {
    if (const auto* e = std::get_if<fp::Expr>(&i.u)) return item(typed(*e));
    return implied_do(std::get<Fortran::common::Indirection<fp::OutputImpliedDo>>(i.u).value());
  }
  std::string item(const SomeExpr& e) {
    if (e.Rank() > 0 || within_ > 0) {
      const bool whole = within_ == 0 && to_arguments(e, at_).size() == 1 &&
                         first_of_arguments(e).as<Var>() != nullptr;
      if (!whole) return in_names(e);
    }
    const auto text = as_text(first_of_arguments(e));
    return text ? in_quotes(*text) : argument(e);
  }

  /// The variable counts as Fortran's own loops do, and has that value after the statement.
  std::string implied_do(const fp::OutputImpliedDo& x) {
    const auto& [items, control] = x.t;
    const sem::Symbol& variable = control.name.thing.thing.symbol->GetUltimate();
    const std::optional<SomeExpr> counter = ev::AsGenericExpr(variable);
    if (!counter) throw InternalError("a variable is an expression");
    const auto bound = [&](const auto& e) { return in_names(typed(e.thing.thing.value())); };
    const auto value = [&](const auto& e) { return to_expr(typed(e.thing.thing.value()), at_); };
    const std::string from = bound(control.lower), to = bound(control.upper),
                      step = control.step ? ", " + bound(*control.step) : "";
    const Expr first = value(control.lower), by = control.step ? value(*control.step) : lit(1);
    const Expr reach = index_add({index_sub(value(control.upper), first), by});
    const Expr trips = call("max", {call("truncdiv", {reach, by}, at_), lit(0)}, at_);
    const std::string name = variable.name().ToString();
    if (named_.count(name))
      fail(fmt::format("`{}`, which counts, as another value in the same `{}`", name, what_));
    counters_.emplace(name, type_of(*counter));
    ++within_;
    std::string out = "(";
    for (const fp::OutputItem& i : items) out += item(i) + ", ";
    --within_;
    out_.after.push_back({to_expr(*counter, at_), index_add({first, index_mul(trips, by)})});
    return out + name + " = " + from + ", " + to + step + ")";
  }

  /// The expression as the source has it: its variables are arguments under their own names.
  std::string in_names(const SomeExpr& e) {
    type_of(e);  // of an expression, which may have a type that is not printed
    for (const sem::Symbol& s : ev::CollectSymbols(e)) {
      const sem::Symbol& symbol = s.GetUltimate();
      const std::string name = symbol.name().ToString();
      if (counters_.count(name) || named_.count(name)) continue;
      if (symbol.attrs().test(sem::Attr::INTRINSIC)) continue;
      if (!symbol.has<sem::ObjectEntityDetails>())
        fail(fmt::format("`{}` in an expression of arrays in `{}`", name, what_));
      const std::optional<SomeExpr> value = ev::AsGenericExpr(symbol);
      if (!value) throw InternalError("a variable is an expression");
      if (!named_.insert(name).second) continue;
      argument(*value, sem::IsAssumedSizeArray(symbol) ? Bounds::Open : Bounds::Source, name);
    }
    return e.AsFortran();
  }

  std::string text_;
  std::map<std::string, std::string> counters_;  // of implied loops: their types
  int within_ = 0;                               // such loops around the item at hand
  OutputStatement out_;
};

}  // namespace

namespace {

bool is_place(const fp::IoUnit& u) { return std::holds_alternative<fp::Variable>(u.u); }

}  // namespace

bool writes_into_text(const fp::WriteStmt& s) {
  return (s.iounit && is_place(*s.iounit)) ||
         std::any_of(s.controls.begin(), s.controls.end(), [](const fp::IoControlSpec& c) {
           const auto* unit = std::get_if<fp::IoUnit>(&c.u);
           return unit && is_place(*unit);
         });
}

bool assigns_variables(const fp::WriteStmt& s) {
  return std::any_of(s.controls.begin(), s.controls.end(), [&](const fp::IoControlSpec& c) {
    return std::holds_alternative<fp::StatVariable>(c.u) ||
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
