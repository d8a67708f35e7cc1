#include <unordered_map>

#include "core/infer.h"

namespace moonloop {

std::vector<Intent> intents(const Kernel& k) {
  struct Uses {
    bool read = false;
    const Instruction* writer = nullptr;  // the first
  };
  std::unordered_map<std::string, Uses> uses;
  for (const Argument& a : k.args) uses.try_emplace(a.name);
  for (const InsnPtr& i : k.instructions) {
    for_each_read(k, *i, [&](const std::string& n) {
      if (const auto it = uses.find(n); it != uses.end()) it->second.read = true;
    });
    for (const Expr& l : i->lhs) {
      const auto it = uses.find(written_name(l));
      if (it == uses.end()) continue;
      if (!it->second.writer) it->second.writer = i.get();
      if (i->role == ReductionRole::Update) it->second.read = true;
    }
  }
  std::vector<Intent> out;
  out.reserve(k.args.size());
  for (const Argument& a : k.args) {
    const auto& [r, writer] = uses.at(a.name);
    const bool w = writer != nullptr;
    const Span& at = a.at ? a.at : k.at;
    if (w && (a.intent == Intent::In || a.constant)) {
      Diagnostic d;
      d.code = "wrong-intent";
      d.text = fmt::format("`{}` is declared {}, but `{}` writes it", a.name,
                           a.constant ? "constant" : "`in`", writer->id);
      d.where = {at, {}};
      d.notes.push_back({writer->at, "written here"});
      throw Error(std::move(d));
    }
    if (!w && a.intent == Intent::Out)
      fail("wrong-intent", at, "`{}` is declared `out`, but nothing writes it", a.name);
    if (a.intent != Intent::Unknown) {
      out.push_back(a.intent);
    } else {
      out.push_back(!w ? Intent::In : r ? Intent::InOut : Intent::Out);
    }
  }
  return out;
}

}  // namespace moonloop
