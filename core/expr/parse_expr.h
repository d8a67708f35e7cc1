#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/expr/expr.h"
#include "core/expr/lexer.h"

/// The expression grammar of the kernel language. It is in core because transforms take expressions
/// as text too.
namespace moonloop {

/// A cursor over tokens; the frontends' statement parser shares it.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  const Token& peek(std::size_t ahead = 0) const;  // End for ever after the last
  Token next();
  bool at(std::string_view punct_or_name, std::size_t ahead = 0) const;
  bool accept(std::string_view punct_or_name);
  Token expect(std::string_view punct_or_name, std::string_view where);  // fails `syntax`
  Token expect_name(std::string_view what);
  /// Takes out the token that is `ahead`.
  Token remove(std::size_t ahead);
  bool done() const { return peek().kind == Tok::End; }
  std::size_t position() const { return i_; }
  void rewind(std::size_t position) { i_ = position; }

 private:
  std::vector<Token> tokens_;
  std::size_t i_ = 0;
};

/// Parses one expression and leaves the cursor after it. Nesting beyond 200 levels fails
/// `too-deep`; other errors are `syntax`. A Call of a reduction name becomes a Reduce.
Expr parse_expr(TokenStream& in);

/// `a + b` for the operator `+`, and so on; nothing for what is no operator of two values, and for
/// comparisons and `and`, `or`.
std::optional<Expr> operated(const Token& op, const Expr& a, const Expr& b);

/// The whole of `text` as one expression; spans point into `text`, notes at `at`.
Expr parse_expression(const std::string& text, const Span& at = {});

}  // namespace moonloop
