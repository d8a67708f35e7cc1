#include <unordered_map>
#include <unordered_set>

#include "core/infer.h"

namespace moonloop {

std::vector<Intent> intents(const Kernel& k) {
  std::unordered_set<std::string> read, written;
  std::unordered_map<std::string, const Instruction*> writer;
  for (const InsnPtr& i : k.instructions) {
    for (const std::string& n : reads(k, *i)) read.insert(n);
    for (const std::string& n : writes(*i)) {
      written.insert(n);
      writer.emplace(n, i.get());
      if (i->role == ReductionRole::Update) read.insert(n);
    }
  }
  std::vector<Intent> out;
  out.reserve(k.args.size());
  for (const Argument& a : k.args) {
    const bool w = written.count(a.name) > 0, r = read.count(a.name) > 0;
    const Span& at = a.at ? a.at : k.at;
    if (w && (a.intent == Intent::In || a.constant)) {
      Diagnostic d;
      d.code = "wrong-intent";
      d.text = fmt::format("`{}` is declared {}, but `{}` writes it", a.name,
                           a.constant ? "constant" : "`in`", writer.at(a.name)->id);
      d.where = {at, {}};
      d.notes.push_back({writer.at(a.name)->at, "written here"});
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
