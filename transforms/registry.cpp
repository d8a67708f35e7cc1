#include "transforms/registry.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/infer/infer.h"
#include "core/model/lookup.h"
#include "core/order/check_kernel.h"
#include "core/order/order.h"
#include "core/order/reference.h"
#include "core/order/shared_storage.h"
#include "core/order/tree.h"
#include "core/sets/budget.h"

namespace moonloop {

#define OP(name) extern const Op name##_op;
#include "transforms/table.def"
#undef OP

namespace {

std::string trimmed(std::string_view s) {
  const auto from = s.find_first_not_of(" \t\n");
  if (from == std::string_view::npos) return {};
  return std::string(s.substr(from, s.find_last_not_of(" \t\n") - from + 1));
}

/// Splits at the commas outside of brackets; `"a, b[i, j]"` has two parts. Empty parts are dropped.
std::vector<std::string> split_list(std::string_view s) {
  std::vector<std::string> out;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size()) {
      if (s[i] == '(' || s[i] == '[' || s[i] == '{') ++depth;
      if (s[i] == ')' || s[i] == ']' || s[i] == '}') --depth;
      if (s[i] != ',' || depth > 0) continue;
    }
    std::string part = trimmed(s.substr(from, i - from));
    if (!part.empty()) out.push_back(std::move(part));
    from = i + 1;
  }
  return out;
}

const char* type_name(const Value& v) {
  return std::visit(
      overload{[](std::monostate) { return "nil"; }, [](bool) { return "boolean"; },
               [](std::int64_t) { return "integer"; }, [](double) { return "number"; },
               [](const std::string&) { return "string"; },
               [](const ValueList&) { return "array"; }, [](const ValueDict&) { return "table"; }},
      v.v);
}

const char* expected(Kind kind) {
  switch (kind) {
    case Kind::Str: return "string";
    case Kind::Int: return "integer";
    case Kind::Num: return "number";
    case Kind::Bool: return "boolean";
    case Kind::Names: return "string or array of strings";
    case Kind::Tags: return "string or table of tags by name";
    case Kind::IntPair: return "array of two integers";
    case Kind::Numbers: return "table of integers by name";
    case Kind::Reals: return "table of numbers by name";
    case Kind::Match: return "string";
    case Kind::Any: return "value";
  }
  throw InternalError("unknown kind of parameter");
}

bool is_string(const Value& v) { return v.as<std::string>() != nullptr; }
bool is_int(const Value& v) { return v.as<std::int64_t>() != nullptr; }
bool is_list_of(const Value& v, bool (*element)(const Value&)) {
  const ValueList* l = v.as<ValueList>();
  return l && std::all_of(l->begin(), l->end(), element);
}
/// An empty Lua table is an empty list and an empty dictionary.
bool is_empty_list(const Value& v) { return v.as<ValueList>() && v.as<ValueList>()->empty(); }

bool is_tag_text(const Value& v) {
  const std::string* s = v.as<std::string>();
  if (!s) return false;
  const auto parts = split_list(*s);
  return std::all_of(parts.begin(), parts.end(),
                     [](const std::string& p) { return p.find(':') != std::string::npos; });
}

bool accepts(Kind kind, const Value& v) {
  const auto dict_of = [&](auto element) {
    const ValueDict* d = v.as<ValueDict>();
    return is_empty_list(v) || (d && std::all_of(d->begin(), d->end(),
                                                 [&](const auto& e) { return element(e.second); }));
  };
  switch (kind) {
    case Kind::Str:
    case Kind::Match: return is_string(v);
    case Kind::Int: return is_int(v);
    case Kind::Num: return is_int(v) || v.as<double>();
    case Kind::Bool: return v.as<bool>() != nullptr;
    case Kind::Names: return is_string(v) || is_list_of(v, is_string);
    case Kind::Tags:
      return is_tag_text(v) || is_list_of(v, is_tag_text) || dict_of([](const Value& e) {
               return is_string(e) || (e.as<bool>() && !*e.as<bool>());
             });
    case Kind::IntPair: return is_list_of(v, is_int) && v.as<ValueList>()->size() == 2;
    case Kind::Numbers: return dict_of(is_int);
    case Kind::Reals:
      return dict_of([](const Value& e) { return is_int(e) || e.as<double>() != nullptr; });
    case Kind::Any: return true;
  }
  throw InternalError("unknown kind of parameter");
}

/// `128.0` is the integer 128, as it is for Lua's own functions.
Value to_kind(Kind kind, Value v) {
  const auto whole = [](Value& x) {
    if (const double* d = x.as<double>(); d && *d == std::floor(*d) && std::abs(*d) < 9e15)
      x.v = static_cast<std::int64_t>(*d);
  };
  if (kind == Kind::Int) whole(v);
  if (kind == Kind::IntPair)
    if (auto* l = std::get_if<ValueList>(&v.v))
      for (Value& e : *l) whole(e);
  if (kind == Kind::Numbers || kind == Kind::Reals)
    if (auto* d = std::get_if<ValueDict>(&v.v))
      for (auto& [name, e] : *d) whole(e);
  return v;
}

struct Decoded {
  ValueDict values;                                // by parameter
  std::vector<std::pair<std::string, int>> place;  // number of the argument that gave it
};

Decoded decode(const Op& op, const ValueList& positional, const ValueDict& options,
               const Span& at) {
  std::vector<const Param*> ordered;
  for (const Param& p : op.params)
    if (p.positional) ordered.push_back(&p);
  Decoded out;
  const auto take = [&](const Param& p, const Value& given, int number, const std::string& what) {
    if (given.is_nil()) return;
    Value v = to_kind(p.kind, given);
    const bool none = v.as<bool>() && !*v.as<bool>();  // Python's None
    if (!accepts(p.kind, v) && !(none && !p.required)) {
      const bool detail = v.as<std::string>() || v.as<ValueList>() || v.as<ValueDict>();
      throw BadArgument(number, op.name,
                        fmt::format("{}{} expected, got {}", what, expected(p.kind),
                                    detail ? to_lua(v) : type_name(v)),
                        at);
    }
    out.values.emplace_back(p.name, std::move(v));
    out.place.emplace_back(p.name, number);
  };
  const auto given = [&](const std::string& name) {
    return std::find_if(out.place.begin(), out.place.end(),
                        [&](const auto& e) { return e.first == name; });
  };

  if (positional.size() > ordered.size()) {
    std::string names;
    for (const Param* p : ordered) names += (names.empty() ? "" : ", ") + p->name;
    throw BadArgument(static_cast<int>(ordered.size()) + 2, op.name,
                      ordered.empty() ? "too many arguments; it takes none but the kernel"
                                      : "too many arguments; it takes " + names,
                      at);
  }
  for (std::size_t i = 0; i < positional.size(); ++i)
    take(*ordered[i], positional[i], static_cast<int>(i) + 2, ordered[i]->name + ": ");

  const int number = static_cast<int>(positional.size()) + 2;
  for (const auto& [name, value] : options) {
    const auto p = std::find_if(op.params.begin(), op.params.end(),
                                [&, n = &name](const Param& x) { return x.name == *n; });
    if (p == op.params.end()) {
      std::vector<std::string> known;
      for (const Param& x : op.params) known.push_back(x.name);
      std::string hint = did_you_mean(name, known);
      std::replace(hint.begin(), hint.end(), '`', '\'');
      if (hint.empty() && !known.empty()) hint = fmt::format("; it has {}", fmt::join(known, ", "));
      throw BadArgument(number, op.name, fmt::format("unknown option '{}'{}", name, hint), at);
    }
    if (const auto it = given(name); it != out.place.end())
      throw BadArgument(
          number, op.name,
          fmt::format("option '{}' is given already as an argument before the options", name), at);
    take(*p, value, number, "option '" + name + "': ");
  }

  for (const Param& p : op.params) {
    if (!p.required || given(p.name) != out.place.end()) continue;
    const auto it = std::find(ordered.begin(), ordered.end(), &p);
    const int missing = it == ordered.end() ? number : static_cast<int>(it - ordered.begin()) + 2;
    throw BadArgument(missing, op.name,
                      fmt::format("{}: {} expected, got no value", p.name, expected(p.kind)), at);
  }
  std::sort(out.values.begin(), out.values.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

/// All names in an argument: list elements, keys and their values and, where a text holds a list,
/// its parts, also those before and after a colon.
void collect_names(const Value& v, std::vector<std::string>& out) {
  std::visit(overload{[](std::monostate) {}, [](bool) {}, [](std::int64_t) {}, [](double) {},
                      [&](const std::string& s) {
                        for (const std::string& part : split_list(s)) {
                          out.push_back(part);
                          const auto colon = part.find(':');
                          if (colon == std::string::npos) continue;
                          out.push_back(trimmed(part.substr(0, colon)));
                          out.push_back(trimmed(part.substr(colon + 1)));
                        }
                      },
                      [&](const ValueList& l) {
                        for (const Value& e : l) collect_names(e, out);
                      },
                      [&](const ValueDict& d) {
                        for (const auto& [name, e] : d) {
                          out.push_back(name);
                          collect_names(e, out);
                        }
                      }},
             v.v);
}

/// A transform complained about a name. If the name is in some argument, that argument is wrong.
[[noreturn]] void blame_argument(const Op& op, const Kernel& k, const Decoded& args, const Error& e,
                                 const Span& at) {
  const Diagnostic& d = e.diagnostic();
  for (const Param& p : op.params) {
    const auto place = std::find_if(args.place.begin(), args.place.end(),
                                    [&](const auto& x) { return x.first == p.name; });
    if (place == args.place.end()) continue;
    const auto value = std::find_if(args.values.begin(), args.values.end(),
                                    [&](const auto& x) { return x.first == p.name; });
    std::vector<std::string> names;
    collect_names(value->second, names);
    for (const std::string& name : names) {
      if (name != d.culprit) continue;
      std::string reason = d.hint.empty() ? d.text : d.text + "; " + d.hint;
      if (d.code == "unknown-iname") {
        if (k.has_iname(name)) continue;
        const auto inames = k.inames();
        reason = fmt::format("kernel '{}' has no iname '{}'; it has {}", k.name, name,
                             inames.empty() ? "none" : fmt::format("{}", fmt::join(inames, ", ")));
      }
      std::replace(reason.begin(), reason.end(), '`', '\'');
      throw BadArgument(place->second, op.name, reason, at);
    }
  }
  throw;  // NOLINT: called from a handler
}

/// Codes of errors that say that an argument names something that the kernel lacks, or is
/// malformed.
bool is_about_argument(const std::string& code) {
  static const std::vector<std::string> kCodes{"bad-match",         "bad-tag",
                                               "unknown-argument",  "unknown-array",
                                               "unknown-iname",     "unknown-instruction",
                                               "unknown-name",      "unknown-rule",
                                               "unknown-temporary", "unknown-variable"};
  return std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

/// Names with a zero byte in them would end there for some readers.
bool has_zero_byte(const Value& v) {
  if (const auto* s = v.as<std::string>()) return s->find('\0') != std::string::npos;
  if (const auto* l = v.as<ValueList>()) return std::any_of(l->begin(), l->end(), has_zero_byte);
  if (const auto* d = v.as<ValueDict>())
    return std::any_of(d->begin(), d->end(), [](const auto& x) {
      return x.first.find('\0') != std::string::npos || has_zero_byte(x.second);
    });
  return false;
}

template <class F>
auto run_row(const Op& op, const Kernel& k, const ValueList& positional, const ValueDict& options,
             const Span& at, Proof proof, F f) {
  const Decoded args = decode(op, positional, options, at);
  for (const auto& [name, value] : args.values)
    if (has_zero_byte(value))
      fail("bad-argument", at, "`{}` of `{}` is a text with a zero byte", name, op.name);
  try {
    return f(Args(args.values, at, proof));
  } catch (const BadArgument&) { throw; } catch (const Error& e) {
    if (is_about_argument(e.diagnostic().code)) blame_argument(op, k, args, e, at);
    throw;
  }
}

/// `split_iname("i", 4, {unsafe = true})`.
std::string step_text(const std::string& name, const ValueList& positional,
                      const ValueDict& options) {
  std::vector<std::string> parts;
  for (const Value& v : positional) parts.push_back(to_lua(v));
  if (!options.empty()) parts.push_back(to_lua(Value{options}));
  return fmt::format("{}({})", name, fmt::join(parts, ", "));
}

/// An alias may leave all but its name to the row that it stands for.
Op resolved(const Op& op) {
  if (op.run || op.query) return op;
  const Op* target = find_op(op.alias_of);
  ensure(target && (target->run || target->query), "a registry row does nothing");
  Op out = *target;
  out.name = op.name;
  return out;
}

}  // namespace

BadArgument::BadArgument(int n, std::string f, std::string r, Span at)
    : Error(Diagnostic{
          "bad-argument", fmt::format("bad argument #{} to '{}' ({})", n, f, r), {at, {}}, {}, {}}),
      number(n),
      function(std::move(f)),
      reason(std::move(r)) {}

// ---- Args -----------------------------------------------------------------------------------

const Value* Args::raw(std::string_view name) const {
  for (const auto& [n, v] : values_)
    if (n == name) return v.is_nil() ? nullptr : &v;
  return nullptr;
}
bool Args::has(std::string_view name) const { return raw(name) != nullptr; }
bool Args::is_false(std::string_view name) const {
  const Value* v = raw(name);
  return v && v->as<bool>() && !*v->as<bool>();
}
std::string Args::str(std::string_view name, const std::string& fallback) const {
  const Value* v = raw(name);
  const std::string* s = v ? v->as<std::string>() : nullptr;
  return s ? *s : fallback;
}
std::int64_t Args::integer(std::string_view name, std::int64_t fallback) const {
  const Value* v = raw(name);
  const std::int64_t* n = v ? v->as<std::int64_t>() : nullptr;
  return n ? *n : fallback;
}
bool Args::boolean(std::string_view name, bool fallback) const {
  const Value* v = raw(name);
  const bool* b = v ? v->as<bool>() : nullptr;
  return b ? *b : fallback;
}
std::vector<std::string> Args::names(std::string_view name) const {
  const Value* v = raw(name);
  if (!v) return {};
  if (const std::string* s = v->as<std::string>()) return split_list(*s);
  std::vector<std::string> out;
  if (const ValueList* l = v->as<ValueList>())
    for (const Value& e : *l)
      if (const std::string* s = e.as<std::string>()) out.push_back(trimmed(*s));
  return out;
}
std::vector<std::pair<std::string, std::string>> Args::pairs(std::string_view name) const {
  std::vector<std::pair<std::string, std::string>> out;
  const auto add_text = [&](const std::string& text) {
    for (const std::string& part : split_list(text)) {
      const auto colon = part.find(':');
      out.emplace_back(trimmed(part.substr(0, colon)), trimmed(part.substr(colon + 1)));
    }
  };
  const Value* v = raw(name);
  if (!v) return out;
  if (const std::string* s = v->as<std::string>()) add_text(*s);
  if (const ValueList* l = v->as<ValueList>())
    for (const Value& e : *l) add_text(*e.as<std::string>());
  if (const ValueDict* d = v->as<ValueDict>())
    for (const auto& [n, e] : *d)
      out.emplace_back(n, e.as<std::string>() ? trimmed(*e.as<std::string>()) : "for");
  return out;
}
std::pair<std::int64_t, std::int64_t> Args::int_pair(std::string_view name) const {
  const Value* v = raw(name);
  const ValueList* l = v ? v->as<ValueList>() : nullptr;
  if (!l) return {0, 0};
  return {*(*l)[0].as<std::int64_t>(), *(*l)[1].as<std::int64_t>()};
}
std::vector<std::pair<std::string, std::int64_t>> Args::numbers(std::string_view name) const {
  std::vector<std::pair<std::string, std::int64_t>> out;
  const Value* v = raw(name);
  if (const ValueDict* d = v ? v->as<ValueDict>() : nullptr)
    for (const auto& [n, e] : *d)
      if (const auto* i = e.as<std::int64_t>()) out.emplace_back(n, *i);
  return out;
}
std::vector<std::pair<std::string, double>> Args::reals(std::string_view name) const {
  std::vector<std::pair<std::string, double>> out;
  const Value* v = raw(name);
  if (const ValueDict* d = v ? v->as<ValueDict>() : nullptr)
    for (const auto& [n, e] : *d)
      if (const auto* x = e.as<double>()) out.emplace_back(n, *x);
  return out;
}

Param unsafe_option() {
  return {.name = "unsafe",
          .kind = Kind::Bool,
          .help =
              "leaves the proof out: the kernel then means what the new order computes, and "
              "parallel loops that cannot be proved are trusted from then on",
          .fallback = "false"};
}

// ---- Rows -----------------------------------------------------------------------------------

const std::vector<const Op*>& all_ops() {
  static const std::vector<const Op*> kOps{
#define OP(name) &name##_op,
#include "transforms/table.def"
#undef OP
  };
  return kOps;
}

const Op* find_op(std::string_view name) {
  for (const Op* op : all_ops())
    if (op->name == name) return op;
  return nullptr;
}

namespace {

Kernel run_within_budget(const Op& op, const Kernel& k, const Args& a) {
  try {
    const IslBudget budget(kStepOperations);
    Kernel out = op.run(k, a);
    // Each of the temporaries keeps its order where they share memory, and together they do.
    if (a.proof() == Proof::Made && shares_storage(out)) merge_shared_storage(complete(out));
    return out;
  } catch (const IslQuota&) {
    refuse("too-complex", a.at(), "`{}` would take too many operations on the domains of `{}`",
           op.name, k.name);
  }
}

bool is_legal(const Kernel& k) {
  try {
    within_budget(k.at, "parallel loops keep every dependence", [&] { check_legal(k); });
  } catch (const Refused&) { return false; }
  return true;
}

/// By iname, the loops that are inside of it where it is one without a tag.
std::map<std::string, std::set<std::string>> loops_inside(Kernel k,
                                                          const std::vector<std::string>& inames) {
  std::map<std::string, std::set<std::string>> out;
  for (const std::string& i : inames) k.iname_tags.erase(i);
  const Nested nested = nest(std::move(k));
  for (std::size_t s = 0; s < nested.kernel.instructions.size(); ++s) {
    const std::vector<std::string>& loops = nested.tree.paths[s].loops();
    for (const std::string& i : inames)
      if (const auto it = std::find(loops.begin(), loops.end(), i); it != loops.end())
        out[i].insert(it + 1, loops.end());
  }
  return out;
}

/// `after` with the claim of the step that made it: unproved parallel loops are trusted from now
/// on, those that the step tagged before all others, and in one iteration of the loops inside of
/// them before all, so that each later step and each target takes them.
Kernel on_trust(const Kernel& before, Kernel after, std::string step) {
  after.claims.push_back(Claim{Claim::Kind::Unsafe, {}, std::move(step)});
  std::vector<std::string> tagged, all;
  for (const auto& [iname, tag] : after.iname_tags) {
    if (!is_parallel(&tag)) continue;
    all.push_back(iname);
    if (const InameTag* old = before.tag(iname); !old || !(*old == tag)) tagged.push_back(iname);
  }
  for (const bool inside : {false, true})
    for (const auto& names : {tagged, all}) {
      if (is_legal(after)) return after;
      after.claims.back().names = names;
      if (inside) after.claims.back().inside = loops_inside(after, names);
    }
  return after;
}

/// `text` with arguments that are components of a derived type by the names that the source has.
std::string in_source_names(const Kernel& k, const std::string& text) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && in_name(text[end])) ++end;
    if (end == i) {
      out += text[i++];
      continue;
    }
    const std::string word = text.substr(i, end - i);
    const Argument* a = k.find_arg(word);
    const auto& c = a ? a->fortran.component : nullptr;
    if (!c) {
      out += word;
    } else {
      out += c->of;
      bool inside = false;  // of the subscripts, which follow the name
      for (const char letter : c->path) {
        inside = inside || letter == '(';
        if (!inside) out += letter;
        inside = inside && letter != ')';
      }
    }
    i = end;
  }
  return out;
}

/// A refusal that is about statements of the source, in its names.
std::vector<Diagnostic> in_source_names(const Kernel& k, std::vector<Diagnostic> all,
                                        const Span& step) {
  for (Diagnostic& d : all) {
    if (!d.where.at || d.where.at.str() == step.str()) continue;
    d.text = in_source_names(k, d.text);
    for (Label& n : d.notes) n.text = in_source_names(k, n.text);
  }
  return all;
}

}  // namespace

Kernel run_op(const Op& op, const Kernel& k, ValueList positional, ValueDict options, Span at,
              Proof proof) {
  const Op row = resolved(op);
  ensure(row.run != nullptr, "a query was run as a transform");
  const auto run = [&] {
    return run_row(row, k, positional, options, at, proof, [&](const Args& a) {
      Kernel made = run_within_budget(row, k, a);
      if (!a.boolean("unsafe")) return made;
      return on_trust(k, rebase(std::move(made)), step_text(op.name, positional, options));
    });
  };
  const bool records = std::any_of(k.args.begin(), k.args.end(),
                                   [](const Argument& a) { return bool(a.fortran.component); });
  Kernel out = !records ? run() : [&] {
    try {
      return run();
    } catch (const Refused& e) { throw Refused(in_source_names(k, e.diagnostics(), at)); }
  }();
  out.trace = k.trace;
  out.trace.push_back(Step{op.name, std::move(positional), std::move(options), at});
  return out;
}

Value run_query(const Op& op, const Kernel& k, const ValueList& positional,
                const ValueDict& options, Span at) {
  const Op row = resolved(op);
  ensure(row.query != nullptr, "a transform was run as a query");
  const IslBudget budget(kPhaseOperations, fmt::format("`{}` of kernel `{}`", op.name, k.name), at);
  return run_row(row, k, positional, options, at, Proof::Made,
                 [&](const Args& a) { return row.query(k, a); });
}

}  // namespace moonloop
