#include <llvm/Support/raw_ostream.h>

#include <cctype>

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

/// The components of records in an expression, by the text of it that they are, and the symbols of
/// these.
struct Parts : ev::AnyTraverse<Parts> {
  using Base = ev::AnyTraverse<Parts>;
  explicit Parts(const SomeExpr& e) : Base(*this) { (*this)(e); }
  using Base::operator();

  template <typename T>
  bool operator()(const ev::Designator<T>& d) {
    const auto place = ev::ExtractDataRef(d, true, true);
    const bool whole = place && std::holds_alternative<sem::SymbolRef>(place->u);
    const auto* array = place ? std::get_if<ev::ArrayRef>(&place->u) : nullptr;
    if (!place || whole || (array && array->base().IsSymbol())) return Base::operator()(d);
    std::string text;
    llvm::raw_string_ostream out(text);
    place->AsFortran(out);
    all.emplace(out.str(), *place);
    for (const sem::Symbol& s : ev::GetSymbolVector(*place)) named.insert(&s.GetUltimate());
    return Base::operator()(d);  // subscripts
  }
  bool operator()(const ev::DescriptorInquiry& q) {
    asks_shape = asks_shape || !q.base().IsSymbol();
    return Base::operator()(q);
  }

  std::map<std::string, ev::DataRef> all;
  std::set<const sem::Symbol*> named;
  bool asks_shape = false;  // of a component
};

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

  /// The expression as the source has it: its variables are arguments under their own names, the
  /// components `p%x` of records under that of their variable, `p_x`.
  std::string in_names(const SomeExpr& e) {
    type_of(e);  // of an expression, which may have a type that is not printed
    const Parts parts(e);
    if (parts.asks_shape) fail(fmt::format("an inquiry about a component in `{}`", what_));
    std::map<std::string, std::string> texts;  // of components, by those of the source
    const auto symbols = ev::CollectSymbols(e);
    if (e.Rank() == 0 && within_ == 0 &&  // `size` of records, which are no argument
        std::any_of(symbols.begin(), symbols.end(), [&](const sem::Symbol& s) {
          const auto type = ev::DynamicType::From(s.GetUltimate());
          return type && type->category() == TypeCategory::Derived &&
                 !parts.named.contains(&s.GetUltimate());
        }))
      return argument(e);
    for (const auto& [text, place] : parts.all) texts.emplace(text, part(place));
    for (const sem::Symbol& s : symbols) {
      const sem::Symbol& symbol = s.GetUltimate();
      const std::string name = symbol.name().ToString();
      if (parts.named.contains(&symbol)) continue;
      if (counters_.count(name) || named_.count(name)) continue;
      if (symbol.attrs().test(sem::Attr::INTRINSIC)) continue;
      if (!symbol.has<sem::ObjectEntityDetails>())
        fail(fmt::format("`{}` in an expression of arrays in `{}`", name, what_));
      const std::optional<SomeExpr> value = ev::AsGenericExpr(symbol);
      if (!value) throw InternalError("a variable is an expression");
      if (!named_.insert(name).second) continue;
      argument(*value, sem::IsAssumedSizeArray(symbol) ? Bounds::Open : Bounds::Source, name);
    }
    return with_parts(e.AsFortran(), texts);
  }

  /// A component by the name of its variable, whose axes are its own and then those of the record.
  std::string part(const ev::DataRef& place) {
    Levels levels;
    subscripts(place, levels);
    const sem::Symbol& base = levels.front().first->GetUltimate();
    const sem::Symbol& last = *levels.back().first;
    if (!base.has<sem::ObjectEntityDetails>() || is_outer(base))
      fail(fmt::format("a component of `{}` in `{}`", base.name().ToString(), what_));
    std::string name = variable_name(base), own;
    int axes = 0;
    for (std::size_t n = 0; n < levels.size(); ++n) {
      const auto& [symbol, of_level] = levels[n];
      if (n > 0) name += "_" + symbol->name().ToString();
      axes += symbol->Rank();
      std::string before;
      for (const std::string& s : of_level) before += s + ", ";
      own.insert(0, before);
    }
    if (named_.insert(name).second) {
      const auto type = ev::DynamicType::From(last);
      if (!type) throw InternalError("Flang gives a component no type");
      const bool text = is_text(last);
      const Expr whole = var(name, at_);
      add(type_of(*type), whole, shape_of(whole, axes, text, Bounds::Source), name);
    }
    return own.empty() ? name : name + "(" + own.substr(0, own.size() - 2) + ")";
  }

  /// The variable and its components, inwards, with their subscripts.
  using Levels = std::vector<std::pair<const sem::Symbol*, std::vector<std::string>>>;
  void subscripts(const ev::DataRef& place, Levels& out) {
    std::visit(Fortran::common::visitors{
                   [&](const sem::SymbolRef& s) { level(*s, out); },
                   [&](const ev::Component& c) { component(c, out); },
                   [&](const ev::ArrayRef& a) {
                     if (a.base().IsSymbol())
                       level(a.base().GetLastSymbol(), out);
                     else
                       component(*a.base().UnwrapComponent(), out);
                     auto& own = out.back().second;
                     own.clear();
                     for (const ev::Subscript& s : a.subscript()) own.push_back(subscript(s));
                   },
                   [&](const ev::CoarrayRef&) { fail(fmt::format("a coarray in `{}`", what_)); }},
               place.u);
  }
  void component(const ev::Component& c, Levels& out) {
    subscripts(c.base(), out);
    name_of_component(*c.symbol(), at_);
    level(*c.symbol(), out);
  }
  static void level(const sem::Symbol& s, Levels& out) {
    out.emplace_back(&s, std::vector<std::string>(static_cast<std::size_t>(s.Rank()), ":"));
  }
  std::string subscript(const ev::Subscript& s) {
    const auto text = [&](const ev::Expr<ev::SubscriptInteger>& e) {
      return in_names(ev::AsGenericExpr(ev::Expr<ev::SubscriptInteger>{e}));
    };
    if (const auto* one = std::get_if<ev::IndirectSubscriptIntegerExpr>(&s.u))
      return text(one->value());
    const auto& t = std::get<ev::Triplet>(s.u);
    const auto lower = t.lower(), upper = t.upper();
    return (lower ? text(*lower) : "") + ":" + (upper ? text(*upper) : "") + ":" + text(t.stride());
  }

  /// `text`, outside of its constants, with others in the places of components.
  static std::string with_parts(const std::string& text,
                                const std::map<std::string, std::string>& parts) {
    const auto in_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '%';
    };
    std::string out;
    bool constant = false;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] == '"') constant = !constant;
      const std::pair<const std::string, std::string>* longest = nullptr;
      if (!constant && (at == 0 || !in_name(text[at - 1])))
        for (const auto& p : parts)
          if (text.compare(at, p.first.size(), p.first) == 0 &&
              (!longest || longest->first.size() < p.first.size()))
            longest = &p;
      out += longest ? longest->second : std::string(1, text[at]);
      at += longest ? longest->first.size() : 1;
    }
    return out;
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

std::optional<Stop> read_stop(const fp::StopStmt& s, const Span& at) {
  const auto& [kind, code, quiet] = s.t;
  const bool error = kind == fp::StopStmt::Kind::ErrorStop;
  Stop x{error ? "ERROR STOP" : "", error ? 1 : 0};
  if (quiet) return std::nullopt;
  if (!code) return x;
  const SomeExpr* typed = sem::GetExpr(nullptr, code->v.thing);
  if (!typed) throw InternalError("Flang gives an expression no type");
  if (!ev::IsActuallyConstant(*typed)) return std::nullopt;
  const Exprs values = to_arguments(*typed, at);
  const auto number = as_int(without_casts(values.at(0)));
  const auto text = as_text(values[0]);
  if (!number && !text) return std::nullopt;
  if (number) x.status = *number;
  x.text = (error ? "ERROR STOP " : "STOP ") + (text ? *text : std::to_string(*number));
  return x;
}

}  // namespace moonloop::fortran
