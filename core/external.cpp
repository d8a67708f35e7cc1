#include "core/external.h"

namespace moonloop {
namespace {

constexpr std::string_view kText = "text ";  // no function's name has a space

}  // namespace

Expr text_literal(const std::string& text, Span at) {
  return call(std::string(kText) + text, {}, at);
}

std::optional<std::string> as_text(const Expr& e) {
  const auto* c = e.as<Call>();
  if (!c || !c->name.starts_with(kText)) return std::nullopt;
  return c->name.substr(kText.size());
}

std::string stop_name(const std::string& kernel) { return "stop_in_" + kernel; }

const Call* external_call(const Kernel& k, const Instruction& insn) {
  if (k.externals.empty() || !insn.rhs) return nullptr;
  const auto* c = insn.rhs.as<Call>();
  return c && k.externals.count(c->name) ? c : nullptr;
}

}  // namespace moonloop
