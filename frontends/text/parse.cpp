#include "frontends/text/parse.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/infer/typing.h"
#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/order/check_kernel.h"
#include "core/order/inline_calls.h"
#include "core/order/reference.h"
#include "core/sets/budget.h"
#include "frontends/text/syntax.h"

namespace moonloop {
namespace {

using namespace text;

void check_utf8(const Source* source) {
  const std::size_t bad = find_not_utf8(source->text);
  if (bad != std::string::npos)
    fail("not-utf8", span_at(source, bad, 1), "byte 0x{:02x} is not UTF-8 text",
         static_cast<unsigned char>(source->text[bad]));
}

using Records = std::map<std::string, std::shared_ptr<const Record>>;

void read_records(const Source* source, const std::vector<Line>& lines, Records& records,
                  Errors& errors) {
  for (const Line& l : lines)
    if (starts_with_word(source, l, "record"))
      errors.guard([&] {
        TokenStream in(tokenize(source, l.begin, l.end));
        parse_record(in, records);
      });
}

/// Reads the lines of one kernel after its head.
void read_body(const Source* source, const std::vector<Line>& lines, KernelText& k,
               Errors& errors) {
  StatementParser statements(k, errors);
  for (const Line& l : lines) {
    if (errors.full()) return;
    errors.guard([&] {
      if (!parse_declaration(source, l, k)) statements.line(source, l);
    });
  }
  statements.finish();
}

Kernel create_checked(KernelText k, const Callees& callees, Errors& errors, std::size_t before) {
  Kernel out;
  if (errors.count() > before) return out;
  try {
    const bool program = k.program;
    out = create(std::move(k), callees, errors);
    if (program && errors.count() == before && !out.callees.empty())
      out = inline_all_calls(complete(out));
  } catch (const Error& e) {
    for (const Diagnostic& d : e.diagnostics()) errors.add(d);
  }
  return out;
}

/// Finds `y[i, :] = f(x[i, :])`, where `f` is one of `kernels`.
void find_calls(KernelText& k, const std::set<std::string>& kernels) {
  for (Statement& s : k.statements) {
    const auto* c = s.rhs ? s.rhs.as<Call>() : nullptr;
    if (!c || s.calls_kernel || !kernels.contains(c->name) || find_function(c->name)) continue;
    const auto is_it = [&](const Rule& r) { return r.name == c->name; };
    if (std::any_of(k.rules.begin(), k.rules.end(), is_it) || k.externals.count(c->name)) continue;
    s.kind = InsnKind::Call;
    s.calls_kernel = s.by_results = true;
    s.argument_names.resize(c->args.size());
  }
}

/// The kernels that it calls, each with the place of a call.
std::map<std::string, Span> calls_of(const KernelText& k) {
  std::map<std::string, Span> out;
  for (const Statement& s : k.statements)
    if (s.calls_kernel) out.emplace(s.rhs.as<Call>()->name, s.at);
  return out;
}

[[noreturn]] void fail_unknown_kernel(const std::string& name, const std::vector<std::string>& all,
                                      const Span& at) {
  fail_for(name, "unknown-kernel", at, "no kernel `{}` to call{}", name, did_you_mean(name, all));
}

/// Those of `kernels` that `k` calls: what they mean is what they do now.
Callees callees_among(const std::vector<Kernel>& kernels, const KernelText& k) {
  Callees out;
  for (const auto& [name, at] : calls_of(k)) {
    const auto is_it = [&, &name = name](const Kernel& callee) { return callee.name == name; };
    const auto it = std::find_if(kernels.begin(), kernels.end(), is_it);
    std::vector<std::string> all;
    for (const Kernel& callee : kernels) all.push_back(callee.name);
    if (it == kernels.end()) fail_unknown_kernel(name, all, at);
    auto meaning = std::make_shared<const Kernel>(complete(rebase(proved(*it))));
    out.emplace(name, std::make_shared<CalledKernel>(CalledKernel{std::move(meaning), nullptr}));
  }
  return out;
}

/// The kernels of a file. One that calls others is created after them.
class Creator {
 public:
  /// `kernels`: the names of all.
  Creator(std::set<std::string> kernels, Errors& errors)
      : kernels_(std::move(kernels)), errors_(errors) {}

  /// `before`: how many errors there were when its text began.
  void add(KernelText k, std::size_t before) {
    const std::size_t place = out_.size();
    out_.emplace_back();
    names_.emplace(k.name, place);
    find_calls(k, kernels_);
    if (calls_of(k).empty())
      out_[place] = create_checked(std::move(k), {}, errors_, before);
    else if (errors_.count() == before)
      open_.emplace(place, std::move(k));
  }

  std::vector<Kernel> run() {
    while (!open_.empty()) create_next(open_.begin()->first, {});
    return std::move(out_);
  }

 private:
  /// `path`: the kernels that call one another to here.
  void create_next(std::size_t place, std::vector<std::string> path) {
    KernelText k = std::move(open_.extract(place).mapped());
    path.push_back(k.name);
    const std::size_t before = errors_.count();
    Callees callees;
    for (const auto& [name, at] : calls_of(k)) {
      if (std::find(path.begin(), path.end(), name) != path.end()) {
        path.push_back(name);
        errors_.add(
            {"recursive-call",
             fmt::format("the kernel `{}` calls itself ({})", name, fmt::join(path, " -> ")),
             {at, {}},
             {},
             {}});
        return;
      }
      const auto it = names_.find(name);
      if (it == names_.end()) {
        std::vector<std::string> all;
        for (const auto& [n, number] : names_) all.push_back(n);
        errors_.guard([&, &name = name, &at = at] { fail_unknown_kernel(name, all, at); });
        return;
      }
      if (open_.contains(it->second)) create_next(it->second, path);
      if (errors_.count() > before) return;
      errors_.guard([&, number = it->second] { callees.emplace(name, callee(number)); });
    }
    out_[place] = create_checked(std::move(k), callees, errors_, before);
  }

  std::shared_ptr<const CalledKernel> callee(std::size_t number) {
    std::shared_ptr<const CalledKernel>& out = callees_[number];
    if (!out)
      out = std::make_shared<CalledKernel>(
          CalledKernel{std::make_shared<Kernel>(complete(out_[number])), nullptr});
    return out;
  }

  std::set<std::string> kernels_;
  Errors& errors_;
  std::vector<Kernel> out_;
  std::map<std::string, std::size_t> names_;
  std::map<std::size_t, KernelText> open_;
  std::map<std::size_t, std::shared_ptr<const CalledKernel>> callees_;
};

// ---- Fixed parameters.

void fix_parameter(Kernel& k, const std::string& name, std::int64_t value, const Span& at) {
  bool known = k.find_arg(name) != nullptr;
  const auto fixed = [&](Set s) {
    const int p = isl_set_find_dim_by_name(s.get(), isl_dim_param, name.c_str());
    if (p < 0) return s;
    known = true;
    Val v = isl_val_int_from_si(isl(), value);
    s = isl_set_fix_val(s.take(), isl_dim_param, static_cast<unsigned>(p), v.take());
    return drop_params(std::move(s), {name});
  };
  for (Domain& d : k.domains) d.set = fixed(d.set);
  if (k.assumptions) k.assumptions = fixed(k.assumptions);
  if (!known)
    fail("unknown-parameter", at, "no parameter `{}` to fix in kernel `{}`", name, k.name);
  const auto* arg = k.find_arg(name);
  if (arg && arg->is_array)
    fail("bad-argument", arg->at, "`{}` is an array and cannot be fixed", name);
  const Expr literal = arg && arg->type && !arg->type->is_record() && is_integer(arg->type->scalar)
                           ? Expr(IntLit{value, arg->type->scalar})
                           : lit(value);
  const std::map<std::string, Expr> by{{name, lit(value)}}, typed{{name, literal}};
  for (Rule& r : k.rules)
    if (std::find(r.params.begin(), r.params.end(), name) == r.params.end())
      r.body = substitute(r.body, typed);
  k = map_expressions(k, [&](const Instruction&, const Expr& e) { return substitute(e, typed); });
  const auto all = [&](std::optional<Exprs>& es) {
    if (es)
      for (Expr& e : *es) e = index_add({substitute(e, by)});
  };
  for (Argument& a : k.args) {
    all(a.shape);
    all(a.strides);
    if (a.offset) a.offset = index_add({substitute(a.offset, by)});
  }
  for (auto& [n, t] : k.temporaries) all(t.shape);
  erase_if(k.args, [&](const Argument& a) { return a.name == name; });
}

}  // namespace

std::vector<Kernel> parse_kernels(const Source* source) {
  check_utf8(source);
  const IslBudget budget(kPhaseOperations, fmt::format("reading `{}`", source->name));
  Errors errors;
  const std::vector<Line> lines = split_lines(source);
  std::vector<std::vector<Line>> parts(1);  // before the first kernel, then kernel by kernel
  for (const Line& l : lines) {
    if (starts_with_word(source, l, "kernel") || starts_with_word(source, l, "program"))
      parts.emplace_back();
    parts.back().push_back(l);
  }
  Records shared;
  read_records(source, parts.front(), shared, errors);
  for (const Line& l : parts.front())
    if (!starts_with_word(source, l, "record")) {
      errors.guard([&] {
        const std::vector<Token> tokens = tokenize(source, l.begin, l.end);
        if (tokens.front().kind == Tok::End) return;
        throw Error(Diagnostic{"no-kernel",
                               "a statement is before the first kernel",
                               {tokens.front().at, {}},
                               {},
                               "a kernel starts with `kernel NAME`"});
      });
      break;
    }
  std::set<std::string> all;
  Errors again;  // they are reported in their place
  for (std::size_t n = 1; n < parts.size(); ++n)
    again.guard([&] {
      const std::vector<Token> head =
          tokenize(source, parts[n].front().begin, parts[n].front().end);
      if (head.size() > 1) all.insert(head[1].text);
    });
  Creator kernels(std::move(all), errors);
  std::map<std::string, Span> names;
  for (std::size_t n = 1; n < parts.size() && !errors.full(); ++n) {
    const std::size_t before = errors.count();
    KernelText k;
    k.from_end = true;
    k.records = shared;
    read_records(source, parts[n], k.records, errors);
    errors.guard([&] {
      TokenStream in(tokenize(source, parts[n].front().begin, parts[n].front().end));
      parse_header(in, k);
      const auto [it, fresh] = names.emplace(k.name, k.at);
      if (!fresh)
        throw Error(Diagnostic{"duplicate-kernel",
                               fmt::format("two kernels are named `{}`", k.name),
                               {k.at, {}},
                               {{it->second, "the first one"}},
                               {}});
    });
    read_body(source, {parts[n].begin() + 1, parts[n].end()}, k, errors);
    kernels.add(std::move(k), before);
  }
  const std::vector<Kernel> out = kernels.run();
  errors.throw_if_any();
  if (out.empty())
    throw Error(Diagnostic{"no-kernel",
                           "there is no kernel here",
                           {span_at(source, source->text.size(), 0), {}},
                           {},
                           "a kernel starts with `kernel NAME`"});
  return out;
}

std::optional<std::string> program_of(const Source* source) {
  std::optional<std::string> out;
  for (const Line& l : split_lines(source)) {
    const bool program = starts_with_word(source, l, "program");
    if (out && (program || starts_with_word(source, l, "kernel"))) return std::nullopt;
    if (program) out = tokenize(source, l.begin, l.end)[1].text;
  }
  return out;
}

Kernel make_kernel(const MakeKernel& m, const Span& at) {
  Errors errors;
  KernelText k;
  require_identifier(m.name, at);
  k.name = m.name;
  k.at = at;
  k.index_type = m.index_type;
  k.sequential = m.sequential;
  if (m.default_order != "C" && m.default_order != "F" && m.default_order != "auto")
    fail("bad-option", at, "no order `{}`; there are C, F, auto", m.default_order);
  k.default_order = m.default_order == "F" ? Order::F : Order::C;
  const auto word = [&](const char* name, const std::string& text) {
    const Source* source = add_source(name, text);
    check_utf8(source);
    const std::size_t len = std::min(text.find('\n'), text.size());
    return Word{text, span_at(source, 0, len)};
  };
  const Source* body = add_source("<instructions>", m.instructions);
  errors.guard([&] { check_utf8(body); });
  errors.throw_if_any();
  const std::vector<Line> lines = split_lines(body);
  read_records(body, lines, k.records, errors);
  for (const std::string& d : m.domains) errors.guard([&] { add_domain(word("<domain>", d), k); });
  if (m.assumptions.find_first_not_of(" \t\r\n") != std::string::npos)
    errors.guard([&] { add_assumption(word("<assumptions>", m.assumptions), k); });
  k.guess = m.args.empty();
  for (const std::string& a : m.args)
    errors.guard([&] {
      TokenStream in(tokenize(word("<argument>", a).at.source, 0, a.size()));
      do {
        if (auto arg = parse_argument(in, k))
          k.args.push_back(std::move(*arg));
        else
          k.guess = true;
      } while (in.accept(","));
      expect_end(in, "after the argument");
    });
  read_body(body, lines, k, errors);
  k.program = m.program;
  k.from_end = true;
  std::set<std::string> names;
  for (const Kernel& callee : m.kernels)
    if (!names.insert(callee.name).second)
      fail("duplicate-kernel", at, "two kernels are named `{}`", callee.name);
  find_calls(k, names);
  Callees callees;
  if (errors.count() == 0) errors.guard([&] { callees = callees_among(m.kernels, k); });
  Kernel out = create_checked(std::move(k), callees, errors, 0);
  if (errors.count() == 0)
    for (const auto& [name, value] : m.fixed_parameters)
      errors.guard([&, name = name, value = value] { fix_parameter(out, name, value, at); });
  errors.throw_if_any();
  return out;
}

}  // namespace moonloop
