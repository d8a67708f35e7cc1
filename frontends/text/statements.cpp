#include <algorithm>

#include "core/base/diagnostic.h"
#include "frontends/text/syntax.h"

namespace moonloop::text {
namespace {

constexpr std::size_t kMaxBlocks = 200;

bool at_end(const TokenStream& in) {
  return in.peek().kind == Tok::End || in.peek().kind == Tok::Newline;
}

std::string shown(const Token& t) {
  return t.kind == Tok::End || t.kind == Tok::Newline ? "the end of the line" : "`" + t.text + "`";
}

bool is_assignee(const Expr& e) {
  if (e.as<Var>() || e.as<Load>()) return true;
  if (const auto* f = e.as<Field>()) return is_assignee(f->base);
  if (const auto* s = e.as<SubArray>()) return is_assignee(s->load);
  return false;
}

/// The operator of `a += b`, which is taken out of the line.
std::optional<Token> updating_operator(TokenStream& in) {
  int depth = 0;
  for (std::size_t n = 0; in.peek(n).kind != Tok::End; ++n) {
    const Token& t = in.peek(n);
    if (t.kind != Tok::Punct) continue;
    if (t.text == "(" || t.text == "[") ++depth;
    if (t.text == ")" || t.text == "]") --depth;
    if (depth > 0) continue;
    if (t.text == "=" || t.text == "{") break;
    const Token& next = in.peek(n + 1);
    constexpr std::string_view kOperators = " + - * / // % ** @ | & ^ << >> ";
    if (next.kind == Tok::Punct && next.text == "=" && next.at.line == t.at.line &&
        next.at.col == t.at.col + t.at.len &&
        kOperators.find(" " + t.text + " ") != std::string_view::npos)
      return in.remove(n);
  }
  return std::nullopt;
}

}  // namespace

void StatementParser::line(const Source* source, const Line& line) {
  TokenStream in(tokenize(source, line.begin, line.end));
  statement(in);
}

void StatementParser::statement(TokenStream& in) {
  if (in.at("...")) return special(in);
  const Token first = in.peek();
  const auto followed_by_assignment = [&] {
    return in.at("=", 1) || in.at(":=", 1) || in.at("[", 1) || in.at(",", 1) || in.at(".", 1) ||
           (in.peek(1).kind == Tok::Punct && in.at("=", 2));
  };
  if (first.kind == Tok::Name && !followed_by_assignment()) {
    if (first.text == "end") return close(in);
    if (first.text == "if") return open_if(in);
    if (first.text == "elif") return next_arm(in, false);
    if (first.text == "else") return next_arm(in, true);
    if (first.text == "for") {
      Block block{Block::Kind::For, -1, {}, {}, -1, 0, first.at};
      errors_.guard([&] {
        in.next();
        block.inames = name_list(in, "an iname after `for`");
        expect_end(in, "after the inames of `for`");
      });
      return open(std::move(block), first.at);
    }
    if (first.text == "with") {
      Block block{Block::Kind::With, -1, {}, {}, -1, 0, first.at};
      errors_.guard([&] {
        in.next();
        block.options = parse_options(in, true);
        expect_end(in, "after the options of `with`");
      });
      return open(std::move(block), first.at);
    }
  }
  if (first.text == "call" && in.peek(1).kind == Tok::Name) return kernel_call(in);
  if (!rule(in)) assignment(in);
}

// ---- Blocks.

void StatementParser::open(Block block, const Span& at) {
  if (open_.size() == kMaxBlocks)
    errors_.add({"too-deep",
                 fmt::format("blocks are nested more than {} levels deep", kMaxBlocks),
                 {at, {}},
                 {},
                 {}});
  block.parent = open_.empty() ? -1 : open_.back();
  k_.blocks.push_back(std::move(block));
  open_.push_back(static_cast<int>(k_.blocks.size()) - 1);
}

void StatementParser::open_if(TokenStream& in) {
  const Span at = in.next().at;
  Chain chain;
  chain.at = at;
  chain.first = k_.statements.size();
  chain.block = open_.empty() ? -1 : open_.back();
  const bool ok = errors_.guard([&] {
    chain.conditions.push_back(parse_expr(in));
    expect_end(in, "after the condition of `if`");
  });
  if (!ok) chain.conditions.assign(1, Expr(BoolLit{true}, at));
  k_.chains.push_back(std::move(chain));
  open({Block::Kind::Arm, -1, {}, {}, static_cast<int>(k_.chains.size()) - 1, 0, at}, at);
}

void StatementParser::next_arm(TokenStream& in, bool is_else) {
  const Token word = in.next();
  const int current = open_.empty() ? -1 : open_.back();
  if (current < 0 || k_.blocks[static_cast<std::size_t>(current)].kind != Block::Kind::Arm)
    fail("unbalanced-block", word.at, "`{}` without an `if`", word.text);
  const int number = k_.blocks[static_cast<std::size_t>(current)].chain;
  Chain& chain = k_.chains[static_cast<std::size_t>(number)];
  if (chain.has_else) fail("unbalanced-block", word.at, "`{}` after `else`", word.text);
  if (is_else) {
    chain.has_else = true;
  } else {
    const bool ok = errors_.guard([&] {
      chain.conditions.push_back(parse_expr(in));
      expect_end(in, "after the condition of `elif`");
    });
    if (!ok) return;
  }
  open_.pop_back();
  const int arm = static_cast<int>(chain.conditions.size()) - (is_else ? 0 : 1);
  open({Block::Kind::Arm, -1, {}, {}, number, arm, word.at}, word.at);
  if (is_else) expect_end(in, "after `else`");
}

void StatementParser::close(TokenStream& in) {
  const Token word = in.next();
  if (open_.empty()) fail("unbalanced-block", word.at, "`end` closes nothing");
  const Block& block = k_.blocks[static_cast<std::size_t>(open_.back())];
  if (block.kind == Block::Kind::Arm)
    k_.chains[static_cast<std::size_t>(block.chain)].last = k_.statements.size();
  open_.pop_back();
  expect_end(in, "after `end`");
}

void StatementParser::finish() {
  for (int n : open_) {
    const Block& b = k_.blocks[static_cast<std::size_t>(n)];
    const char* word = b.kind == Block::Kind::For    ? "for"
                       : b.kind == Block::Kind::With ? "with"
                                                     : "if";
    errors_.add(
        {"unbalanced-block", fmt::format("this `{}` has no `end`", word), {b.at, {}}, {}, {}});
  }
}

// ---- Barriers and nothing.

void StatementParser::special(TokenStream& in) {
  const Span dots = in.next().at;
  const Token word = in.expect_name("`gbarrier`, `lbarrier` or `nop` after `...`");
  Statement s;
  s.at = join(dots, word.at);
  s.block = open_.empty() ? -1 : open_.back();
  if (word.text == "nop") {
    s.kind = InsnKind::Nop;
  } else if (word.text == "gbarrier" || word.text == "lbarrier") {
    s.kind = InsnKind::Barrier;
    s.barrier = word.text == "gbarrier" ? BarrierScope::Global : BarrierScope::Local;
  } else {
    fail("syntax", word.at, "no statement `... {}`; there are gbarrier, lbarrier, nop", word.text);
  }
  if (in.at("{")) s.written_options = std::make_unique<Options>(parse_options(in, false));
  expect_end(in, "after the statement");
  if (!s.options().mem_kind.text.empty() && s.kind != InsnKind::Barrier)
    fail("bad-option", s.options().mem_kind.at, "`mem_kind` is for barriers only");
  k_.statements.push_back(std::move(s));
}

// ---- Rules.

bool StatementParser::rule(TokenStream& in) {
  if (in.peek().kind != Tok::Name) return false;
  if (!in.at(":=", 1)) {
    if (!in.at("(", 1)) return false;
    std::size_t n = 2;
    while (in.peek(n).kind == Tok::Name || in.at(",", n)) ++n;
    if (!in.at(")", n) || !in.at(":=", n + 1)) return false;
  }
  const Token name = in.next();
  Rule r{name.text, {}, {}, name.at};
  if (in.accept("(")) {
    while (!in.at(")")) {
      const Token p = in.expect_name("the name of a parameter");
      if (std::find(r.params.begin(), r.params.end(), p.text) != r.params.end())
        fail("duplicate-parameter", p.at, "the rule `{}` has two parameters `{}`", r.name, p.text);
      r.params.push_back(p.text);
      if (!in.accept(",")) break;
    }
    in.expect(")", "to close the parameters of a rule");
  }
  in.expect(":=", "in a rule");
  r.body = parse_expr(in);
  if (in.at("{")) fail("bad-option", in.peek().at, "the rule `{}` takes no options", r.name);
  expect_end(in, "after the rule");
  const auto [it, fresh] = rule_places_.emplace(r.name, r.at);
  if (!fresh)
    throw Error(Diagnostic{"duplicate-rule",
                           fmt::format("the rule `{}` is defined twice", r.name),
                           {r.at, {}},
                           {{it->second, "the first definition"}},
                           {}});
  k_.rules.push_back(std::move(r));
  return true;
}

// ---- Assignments and calls.

Assignee StatementParser::assignee(TokenStream& in) {
  Assignee a;
  a.at = in.peek().at;
  if (in.accept("<")) {
    a.declares = true;
    if (!in.at(">") && !in.accept("auto")) a.type = parse_type(in, k_.records);
    in.expect(">", "after the type of a temporary");
  }
  if (in.at("[")) {  // [i, j]: a[i, j, k]
    const Span at = in.next().at;
    std::vector<std::string> inames;
    if (!in.at("]"))
      for (Word& w : name_list(in, "an iname")) inames.push_back(std::move(w.text));
    in.expect("]", "after the inames of a sub-array");
    in.expect(":", "after the inames of a sub-array");
    Expr part = parse_expr(in);
    const Span whole = join(at, part.at());
    if (!part.as<Load>())
      fail("bad-assignee", part.at(), "`{}` is not part of an array", to_string(part));
    a.e = Expr(SubArray{std::move(inames), std::move(part)}, whole);
  } else {
    a.e = parse_expr(in);
  }
  a.at = join(a.at, a.e.at());
  if (a.declares && !a.e.as<Var>() && !a.e.as<Load>())
    fail("bad-assignee", a.at, "`{}` cannot declare a temporary", to_string(a.e));
  return a;
}

/// `call f(n, u=x[i, :])`.
void StatementParser::kernel_call(TokenStream& in) {
  Statement s;
  s.block = open_.empty() ? -1 : open_.back();
  s.kind = InsnKind::Call;
  s.calls_kernel = true;
  const Span begin = in.next().at;
  const Token name = in.next();
  in.expect("(", "in the call of a kernel");
  Exprs arguments;
  while (!in.at(")")) {
    Word to;
    if (in.peek().kind == Tok::Name && in.at("=", 1)) {
      const Token t = in.next();
      to = {t.text, t.at};
      in.next();
    } else if (!s.argument_names.empty() && !s.argument_names.back().text.empty()) {
      fail("syntax", in.peek().at, "an argument without a name is after one with a name");
    }
    arguments.push_back(parse_expr(in));
    s.argument_names.push_back(std::move(to));
    if (!in.accept(",")) break;
  }
  const Span end = in.peek().at;
  in.expect(")", "to close the arguments of a call");
  s.at = join(begin, end);
  s.rhs = call(name.text, std::move(arguments), join(name.at, end));
  if (in.at("{")) s.written_options = std::make_unique<Options>(parse_options(in, false));
  expect_end(in, "after the call");
  k_.statements.push_back(std::move(s));
}

void StatementParser::assignment(TokenStream& in) {
  Statement s;
  s.block = open_.empty() ? -1 : open_.back();
  const std::optional<Token> update = updating_operator(in);
  do s.lhs.push_back(assignee(in));
  while (in.accept(",") && !in.at("="));
  const Expr& head = s.lhs.front().e;
  if (update) {
    if (s.lhs.size() != 1 || s.lhs.front().declares)
      fail("bad-assignee", s.lhs.front().at, "`{}=` changes one variable that is there already",
           update->text);
    if (!is_assignee(head))
      fail("bad-assignee", s.lhs.front().at, "`{}` cannot be assigned to", to_string(head));
    in.expect("=", "in an assignment");
    if (at_end(in)) fail("syntax", in.peek().at, "found nothing to assign");
    s.rhs = *operated(*update, head, parse_expr(in));
    s.at = join(s.lhs.front().at, s.rhs.at());
  } else if (!in.at("=")) {
    const auto* c = head.as<Call>();
    if (!c || s.lhs.size() != 1 || s.lhs.front().declares)
      fail("syntax", in.peek().at, "found {}, expected `=`", shown(in.peek()));
    s.kind = InsnKind::Call;
    s.rhs = head;
    s.at = head.at();
    s.lhs.clear();
  } else {
    for (const Assignee& a : s.lhs)
      if (!is_assignee(a.e))
        fail("bad-assignee", a.at, "`{}` cannot be assigned to", to_string(a.e));
    in.next();
    if (at_end(in)) fail("syntax", in.peek().at, "found nothing to assign");
    s.rhs = parse_expr(in);
    s.at = join(s.lhs.front().at, s.rhs.at());
    const auto* reduction = s.rhs.as<Reduce>();
    const int results = reduction ? arity(reduction->op) : 1;
    const std::size_t given = s.lhs.size();
    if (reduction && given != static_cast<std::size_t>(results))
      fail("wrong-result-count", s.at, "a reduction by `{}` gives {} result{}, found {} assignee{}",
           to_string(reduction->op), results, results == 1 ? "" : "s", given,
           given == 1 ? "" : "s");
    if (given > 1 && !reduction && !s.rhs.as<Call>())
      fail("wrong-result-count", s.rhs.at(),
           "{} assignees need a call or a reduction with two results, found `{}`", given,
           to_string(s.rhs));
    const bool passes_parts = std::any_of(s.lhs.begin(), s.lhs.end(), [](const Assignee& a) {
      if (a.e.as<SubArray>()) return true;
      const auto* l = a.e.as<Load>();
      return l && std::any_of(l->index.begin(), l->index.end(),
                              [](const Expr& i) { return i.as<Slice>() != nullptr; });
    });
    if (s.rhs.as<Call>() && (given > 1 || passes_parts)) s.kind = InsnKind::Call;
  }
  if (in.at("{")) s.written_options = std::make_unique<Options>(parse_options(in, false));
  expect_end(in, "after the statement");
  if (!s.options().mem_kind.text.empty())
    fail("bad-option", s.options().mem_kind.at, "`mem_kind` is for barriers only");
  k_.statements.push_back(std::move(s));
}

}  // namespace moonloop::text
