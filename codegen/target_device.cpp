#include "codegen/target_device.h"

namespace moonloop {
namespace {

constexpr int kDefaultUnroll = 4;

void hint(Block& block, const Plan& plan, const std::function<std::string(int)>& text) {
  for (Stmt& s : block) {
    if (auto* x = std::get_if<Loop>(&s.op)) {
      const InameTag* tag = plan.kernel.tag(x->iname);
      if (tag && tag->kind == TagKind::UnrollHint)
        x->pragmas.push_back(text(tag->axis > 0 ? tag->axis : kDefaultUnroll));
      hint(x->body, plan, text);
    }
    if (auto* x = std::get_if<If>(&s.op)) hint(x->body, plan, text);
    if (auto* x = std::get_if<Scope>(&s.op)) hint(x->body, plan, text);
    if (auto* x = std::get_if<Launch>(&s.op)) hint(x->body, plan, text);
  }
}

}  // namespace

void decorate_device(Block& block, const Plan& plan, const std::function<std::string(int)>& text) {
  hint(block, plan, text);
}

}  // namespace moonloop
