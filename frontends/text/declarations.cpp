#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/infer/typing.h"
#include "core/model/domain.h"
#include "frontends/text/syntax.h"

namespace moonloop::text {
namespace {

bool name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool blank_char(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// The name that a line starts with, where it ends, and where what follows it begins.
struct FirstWord {
  std::string text;
  std::size_t begin = 0, next = 0;
};
FirstWord first_word(const Source* source, const Line& line) {
  const std::string& s = source->text;
  std::size_t i = line.begin;
  for (;; ++i) {
    while (i < line.end && blank_char(s[i])) ++i;
    if (i >= line.end || s[i] != '#') break;
    while (i < line.end && s[i] != '\n') ++i;
  }
  FirstWord w;
  w.begin = i;
  while (i < line.end && name_char(s[i])) ++i;
  w.text = s.substr(w.begin, i - w.begin);
  while (i < line.end && blank_char(s[i])) ++i;
  w.next = i;
  return w;
}

/// The rest of a line from `begin`, comments blanked out.
Word rest_of_line(const Source* source, std::size_t begin, std::size_t end) {
  std::string text = source->text.substr(begin, end - begin);
  for (std::size_t i = text.find('#'); i != std::string::npos; i = text.find('#', i))
    while (i < text.size() && text[i] != '\n') text[i++] = ' ';
  while (!text.empty() && blank_char(text.back())) text.pop_back();
  const std::size_t len = std::min(text.find('\n'), text.size());
  return {std::move(text), span_at(source, begin, len)};
}

/// isl reads brackets recursively.
void check_nesting(const Word& w) {
  int depth = 0;
  for (char c : w.text) {
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth > 200) fail("too-deep", w.at, "the set is nested more than 200 levels deep");
  }
}

bool is_raw_declaration(const Source* source, const Line& line, const FirstWord& w) {
  if (w.text != "domain" && w.text != "assume") return false;
  const std::string& s = source->text;
  if (w.next >= line.end) return true;
  const char c = s[w.next];
  if (c == '=' || c == ',' || (c == ':' && w.next + 1 < line.end && s[w.next + 1] == '='))
    return false;
  if (w.text == "assume") return c != '[' || s.find('{', w.next) < line.end;
  // `domain[i] = ...` is an assignment, `domain [n] -> { [i] : ... }` is not.
  if (c != '[') return true;
  const std::size_t close = s.find(']', w.next);
  std::size_t i = close == std::string::npos ? line.end : close + 1;
  while (i < line.end && blank_char(s[i])) ++i;
  return i + 1 < line.end && s[i] == '-' && s[i + 1] == '>';
}

std::optional<AddressSpace> find_space(std::string_view name) {
  if (name == "private") return AddressSpace::Private;
  if (name == "local") return AddressSpace::Local;
  if (name == "global") return AddressSpace::Global;
  if (name == "auto") return AddressSpace::Auto;
  return std::nullopt;
}

AddressSpace parse_space(const Token& t) {
  if (const auto space = find_space(t.text)) return *space;
  fail("bad-option", t.at, "no memory `{}`; there are private, local, global, auto", t.text);
}

Order parse_order(TokenStream& in) {
  const Token t = in.expect_name("`C` or `F`");
  if (t.text != "C" && t.text != "F")
    fail("bad-option", t.at, "no order `{}`; there are `C` and `F`", t.text);
  return t.text == "C" ? Order::C : Order::F;
}

/// Expressions between brackets, the cursor after the opening one.
Exprs parse_list(TokenStream& in, std::string_view close, std::string_view what) {
  Exprs out;
  while (!in.at(close)) {
    out.push_back(parse_expr(in));
    if (!in.accept(",")) break;
  }
  in.expect(close, what);
  return out;
}

/// Behind `[`: an extent per axis, none for `[]` and `[()]`; nothing for `[...]`.
std::optional<Exprs> parse_shape(TokenStream& in) {
  if (in.accept("...")) {
    in.expect("]", "after `...`");
    return std::nullopt;
  }
  if (in.at("(") && in.at(")", 1)) in.next(), in.next();
  return parse_list(in, "]", "to close the shape");
}

void parse_strides(TokenStream& in, std::optional<Exprs>& strides) {
  if (!strides) strides.emplace();
  if (in.accept("(")) {
    for (Expr& e : parse_list(in, ")", "to close the strides")) strides->push_back(std::move(e));
  } else {
    strides->push_back(parse_expr(in));
  }
}

bool is_int_literal(const Expr& e) { return as_int(e).has_value(); }

void check_literal(const Expr& e) {
  const Expr* inner = &e;
  if (const Expr* x = negated(e)) inner = x;
  if (const auto* c = inner->as<Cast>()) inner = &c->arg;
  if (is_int_literal(e) || inner->as<IntLit>() || inner->as<FloatLit>() || inner->as<BoolLit>() ||
      inner->as<ComplexLit>())
    return;
  // A complex constant is a sum of its parts.
  if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Add && n->terms.size() == 2) {
    for (const Expr& t : n->terms) check_literal(t);
    return;
  }
  fail("bad-initializer", e.at(), "`{}` is not a literal", to_string(e));
}

[[noreturn]] void fail_unknown_attribute(const Token& key) {
  static const std::vector<std::string> kAttributes{"in",   "order",     "strides",
                                                    "base", "read_only", "init"};
  const bool memory = find_space(key.text).has_value();
  throw Error(Diagnostic{"unknown-option",
                         fmt::format("no attribute `{}` of a temporary{}", key.text,
                                     memory ? "" : did_you_mean(key.text, kAttributes)),
                         {key.at, {}},
                         {},
                         memory ? fmt::format("`in {}` gives its memory", key.text)
                                : fmt::format("there are {}", fmt::join(kAttributes, ", "))});
}

void add_temporary(Temporary t, KernelText& k) {
  if (const auto it = k.temporaries.find(t.name); it != k.temporaries.end())
    throw Error(Diagnostic{"duplicate-temporary",
                           fmt::format("the temporary `{}` is declared twice", t.name),
                           {t.at, {}},
                           {{it->second.at, "the first declaration"}},
                           {}});
  k.temporaries.emplace(t.name, std::move(t));
}

/// `temp NAME, NAME: type[shape] attributes`, the cursor after `temp`.
void parse_temporary(TokenStream& in, KernelText& k) {
  std::vector<Token> names;
  do names.push_back(in.expect_name("the name of a temporary"));
  while (in.accept(","));
  Temporary t;
  in.expect(":", "after the name of a temporary");
  if (!in.accept("auto")) t.type = parse_type(in, k.records);
  t.shape.emplace();
  if (in.accept("[")) t.shape = parse_shape(in);
  while (in.peek().kind == Tok::Name) {
    const Token key = in.next();
    if (key.text == "in") {
      t.space = parse_space(in.expect_name("a memory"));
    } else if (key.text == "read_only") {
      t.read_only = true;
    } else if (key.text == "order") {
      in.expect("=", "after `order`");
      t.order = parse_order(in);
    } else if (key.text == "strides") {
      in.expect("=", "after `strides`");
      parse_strides(in, t.strides);
    } else if (key.text == "base") {
      in.expect("=", "after `base`");
      t.base_storage = in.expect_name("the name of a storage").text;
    } else if (key.text == "init") {
      in.expect("=", "after `init`");
      in.expect("(", "before the initial values");
      Exprs all = parse_list(in, ")", "to close the initial values");
      for (const Expr& e : all) check_literal(e);
      t.initializer = std::make_shared<const std::vector<Expr>>(std::move(all));
    } else {
      fail_unknown_attribute(key);
    }
  }
  expect_end(in, "after the declaration of a temporary");
  for (const Token& name : names) {
    t.name = name.text;
    t.at = name.at;
    add_temporary(t, k);
  }
}

/// `tag i: g.0, j: unr`, the cursor after `tag`.
void parse_tags(TokenStream& in, KernelText& k) {
  do {
    const Token name = in.expect_name("an iname");
    in.expect(":", "after the iname");
    const Token first = in.peek();
    Span last;
    while (in.peek().kind != Tok::End && in.peek().kind != Tok::Newline && !in.at(","))
      last = in.next().at;
    if (!last) fail("syntax", first.at, "found no tag for `{}`", name.text);
    const Word text = text_between(first.at, last);
    auto tag = parse_iname_tag(text.text);
    if (!tag)
      fail("unknown-tag", text.at, "no tag `{}`; there are {}{}", text.text, all_tags(),
           did_you_mean(text.text, common_tags()));
    tag->at = text.at;
    k.tags.emplace_back(Word{name.text, name.at}, *tag);
  } while (in.accept(","));
  expect_end(in, "after the tags");
}

/// `external f, g: float64`, the cursor after `external`.
void parse_externals(TokenStream& in, KernelText& k) {
  do {
    const Token name = in.expect_name("a function");
    if (find_function(name.text))
      fail("name-taken", name.at, "`{}` is a function of the language", name.text);
    std::optional<Scalar> gives;
    if (in.accept(":")) {
      const Span at = in.peek().at;
      const Type t = parse_type(in, k.records);
      if (t.is_record())
        fail("unknown-type", at, "a function cannot give the record `{}`", t.str());
      gives = t.scalar;
    }
    k.externals[name.text] = gives;
  } while (in.accept(","));
  expect_end(in, "after the functions");
}

/// `slabs i: 1, 1`, the cursor after `slabs`.
void parse_slabs(TokenStream& in, KernelText& k) {
  const Token name = in.expect_name("an iname");
  in.expect(":", "after the iname");
  const Span at = in.peek().at;
  const int head = expect_int(in, "a number of iterations");
  in.expect(",", "between the two numbers of iterations");
  const int tail = expect_int(in, "a number of iterations");
  if (head < 0 || tail < 0) fail("bad-option", at, "a number of iterations is below 0");
  expect_end(in, "after the slabs");
  k.slabs.emplace_back(Word{name.text, name.at}, head, tail);
}

}  // namespace

Type parse_type(TokenStream& in,
                const std::map<std::string, std::shared_ptr<const Record>>& records) {
  Token t = in.expect_name("a type");
  if (t.text == "np" && (in.accept(":") || in.accept("."))) t = in.expect_name("a type");
  if (const auto scalar = parse_scalar(t.text)) return Type(*scalar);
  if (const auto it = records.find(t.text); it != records.end()) {
    Type type;
    type.record = it->second;
    return type;
  }
  static const std::vector<std::string> kTypes{
      "bool",   "int8",   "int16",   "int32",   "int64",   "uint8",     "uint16",
      "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"};
  std::vector<std::string> all = kTypes;
  for (const auto& [name, r] : records) all.push_back(name);
  if (t.text == "i8" || t.text == "u8")
    fail("unknown-type", t.at, "`{0}` means one byte or eight; write `{1}int8` or `{1}int64`",
         t.text, t.text == "u8" ? "u" : "");
  if (t.text == "image1d" || t.text == "image2d" || t.text == "image3d" || t.text == "image")
    fail("unsupported", t.at, "`{}`: image arguments are not supported yet", t.text);
  fail("unknown-type", t.at, "no type `{}`{}", t.text, did_you_mean(t.text, all));
}

bool starts_with_word(const Source* source, const Line& line, std::string_view word) {
  const FirstWord w = first_word(source, line);
  return w.text == word && w.next < line.end && name_char(source->text[w.next]);
}

std::optional<Argument> parse_argument(TokenStream& in, const KernelText& k) {
  if (in.accept("...")) return std::nullopt;
  const Token name = in.expect_name("the name of an argument");
  Argument a;
  a.name = name.text;
  a.at = name.at;
  a.order = k.default_order;
  const auto shape = [&] {
    a.is_array = true;
    a.shape = parse_shape(in);
  };
  if (in.accept("[")) shape();
  if (!in.accept(":")) return a;
  bool typed = false;
  while (!in.at(",") && !in.at(")") && in.peek().kind != Tok::End &&
         in.peek().kind != Tok::Newline) {
    if (in.at("[") && !a.is_array) {
      in.next();
      shape();
      continue;
    }
    const Token key = in.peek();
    if (key.kind != Tok::Name)
      fail("syntax", key.at, "found `{}` in the declaration of `{}`", key.text, name.text);
    if (key.text == "in" || key.text == "out" || key.text == "inout") {
      in.next();
      if (a.intent != Intent::Unknown)
        fail("syntax", key.at, "the direction of `{}` is given twice", name.text);
      a.intent = key.text == "in" ? Intent::In : key.text == "out" ? Intent::Out : Intent::InOut;
    } else if (key.text == "const") {
      in.next();
      a.constant = true;
    } else if (key.text == "order" && in.at("=", 1)) {
      in.next(), in.next();
      a.order = parse_order(in);
    } else if (key.text == "offset" && in.at("=", 1)) {
      in.next(), in.next();
      a.offset = parse_expr(in);
    } else if ((key.text == "stride" && in.at(":", 1)) ||
               ((key.text == "strides" || key.text == "stride") && in.at("=", 1))) {
      in.next(), in.next();
      parse_strides(in, a.strides);
      // `stride:n, stride:1` are two strides of one argument.
      while (in.at(",") && in.at("stride", 1) && in.at(":", 2)) {
        in.next(), in.next(), in.next();
        parse_strides(in, a.strides);
      }
    } else if (!typed) {
      typed = true;
      if (!in.accept("auto")) a.type = parse_type(in, k.records);
    } else {
      fail("unknown-option", key.at, "no attribute `{}` of an argument{}", key.text,
           did_you_mean(key.text, {"in", "out", "inout", "const", "order", "stride", "offset"}));
    }
  }
  if (a.strides && !a.is_array)
    fail("bad-argument", name.at, "the scalar `{}` has strides", name.text);
  if (a.offset && !a.is_array)
    fail("bad-argument", name.at, "the scalar `{}` has an offset", name.text);
  if (a.strides && a.shape && a.strides->size() != a.shape->size())
    fail("bad-argument", name.at, "`{}` has {} axes and {} strides", name.text, a.shape->size(),
         a.strides->size());
  if (!a.is_array && typed && (a.intent == Intent::Out || a.intent == Intent::InOut)) {
    // An assignee needs memory: an array without axes.
    a.is_array = true;
    a.shape.emplace();
  }
  return a;
}

void parse_header(TokenStream& in, KernelText& k) {
  k.program = in.accept("program");
  if (!k.program) in.expect("kernel", "at the start of a kernel");
  const Token name = in.expect_name("the name of the kernel");
  k.name = name.text;
  k.at = name.at;
  if (in.accept("(")) {
    while (!in.at(")")) {
      if (auto a = parse_argument(in, k)) k.args.push_back(std::move(*a));
      if (!in.accept(",")) break;
    }
    in.expect(")", "to close the argument list");
  }
  expect_end(in, "after the head of the kernel");
}

void add_domain(const Word& text, KernelText& k) {
  check_nesting(text);
  Set set = parse_set(text.text, text.at);
  if (dim_names(set).empty()) {
    if (!yes(isl_set_plain_is_universe(set.get())))
      throw Error(Diagnostic{"bad-domain",
                             fmt::format("`{}` has no inames", text.text),
                             {text.at, {}},
                             {},
                             "conditions on parameters go into an `assume` line"});
    return;  // `{:}` means that there are no loops
  }
  k.domains.push_back({std::move(set), text});
}

void add_assumption(const Word& text, KernelText& k) {
  check_nesting(text);
  Set set;
  if (text.text.find('{') != std::string::npos) {
    set = parse_set(text.text, text.at);
    if (!yes(isl_set_is_params(set.get()))) set = isl_set_params(set.take());
  } else {
    set = parse_assumption(text.text, text.at);
  }
  if (yes(isl_set_is_empty(set.get())))
    fail("bad-assumption", text.at, "`{}` can never hold", text.text);
  k.assumptions = k.assumptions ? Set(isl_set_intersect(k.assumptions.take(), set.take())) : set;
  k.assumed.push_back(text);
}

void parse_record(TokenStream& in, std::map<std::string, std::shared_ptr<const Record>>& records) {
  in.expect("record", "before the name of a record");
  const Token name = in.expect_name("the name of a record");
  if (parse_scalar(name.text) || records.contains(name.text))
    fail("duplicate-type", name.at, "there is a type `{}` already", name.text);
  Record r{name.text, {}};
  in.expect("(", "before the fields of a record");
  while (!in.at(")")) {
    const Token field = in.expect_name("the name of a field");
    if (r.find(field.text))
      fail("duplicate-field", field.at, "there is a field `{}` already", field.text);
    in.expect(":", "after the name of a field");
    r.fields.push_back({field.text, parse_type(in, records)});
    if (!in.accept(",")) break;
  }
  in.expect(")", "to close the fields of a record");
  expect_end(in, "after the record");
  if (r.fields.empty()) fail("syntax", name.at, "the record `{}` has no fields", name.text);
  records.emplace(name.text, std::make_shared<const Record>(std::move(r)));
}

bool parse_declaration(const Source* source, const Line& line, KernelText& k) {
  const FirstWord w = first_word(source, line);
  if (is_raw_declaration(source, line, w)) {
    const Word text = rest_of_line(source, w.next, line.end);
    if (text.text.empty())
      fail("syntax", span_at(source, w.begin, w.text.size()), "`{}` with nothing after it", w.text);
    w.text == "domain" ? add_domain(text, k) : add_assumption(text, k);
    return true;
  }
  static const std::set<std::string> kWords{"temp",       "tag",   "prioritize", "loop_order",
                                            "index_type", "slabs", "record",     "external"};
  if (!kWords.contains(w.text) || w.next >= line.end || !name_char(source->text[w.next]))
    return false;
  TokenStream in(tokenize(source, line.begin, line.end));
  if (w.text == "record") return true;  // read before the rest of the kernel
  in.next();
  if (w.text == "temp") {
    parse_temporary(in, k);
  } else if (w.text == "tag") {
    parse_tags(in, k);
  } else if (w.text == "slabs") {
    parse_slabs(in, k);
  } else if (w.text == "index_type") {
    const Span at = in.peek().at;
    const Type t = parse_type(in, k.records);
    if (t.is_record() || !is_integer(t.scalar))
      fail("unknown-type", at, "`{}` is not an integer type", t.str());
    k.index_type = t.scalar;
    expect_end(in, "after the index type");
  } else if (w.text == "external") {
    parse_externals(in, k);
  } else {
    std::vector<Word> names = name_list(in, "an iname");
    expect_end(in, "after the inames");
    if (w.text == "prioritize")
      k.priorities.push_back(std::move(names));
    else
      k.loop_order = std::move(names);
  }
  return true;
}

}  // namespace moonloop::text
