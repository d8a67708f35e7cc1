#include "core/expr/external_arguments.h"

#include <string_view>

namespace moonloop {
namespace {

constexpr std::string_view kText = "text ";  // no function's name has a space
constexpr std::string_view kAddress = "address";
constexpr std::string_view kKnows = "knows";
constexpr std::string_view kLetters = "letters";
constexpr std::string_view kLength = "length";

}  // namespace

Expr text_literal(const std::string& text, Span at) {
  return call(std::string(kText) + text, {}, at);
}

std::optional<std::string> as_text(const Expr& e) {
  const auto* c = e.as<Call>();
  if (!c || !c->name.starts_with(kText)) return std::nullopt;
  return c->name.substr(kText.size());
}

Expr letters(Exprs codes, Span at) { return call(std::string(kLetters), std::move(codes), at); }

const Exprs* as_letters(const Expr& e) {
  const auto* c = e.as<Call>();
  return c && c->name == kLetters && !c->args.empty() ? &c->args : nullptr;
}

Expr text_length(const Expr& n, Span at) { return call(std::string(kLength), {n}, at); }

const Expr* as_text_length(const Expr& e) {
  const auto* c = e.as<Call>();
  return c && c->name == kLength && c->args.size() == 1 ? c->args.data() : nullptr;
}

Expr address(const std::string& array, const Exprs& index, Span at) {
  Exprs args{var(array, at)};
  args.insert(args.end(), index.begin(), index.end());
  return call(std::string(kAddress), std::move(args), at);
}

Expr knows(const std::string& array, Span at) {
  return call(std::string(kKnows), {var(array, at)}, at);
}

bool is_known(const Expr& e) {
  const auto* c = e.as<Call>();
  return c && c->name == kKnows && c->args.size() == 1 && c->args[0].as<Var>();
}

const Exprs* as_address(const Expr& e) {
  const auto* c = e.as<Call>();
  if (is_known(e)) return &c->args;
  return c && c->name == kAddress && !c->args.empty() && c->args[0].as<Var>() ? &c->args : nullptr;
}

}  // namespace moonloop
