#include <unordered_map>
#include <unordered_set>

#include "core/infer/infer.h"

namespace moonloop {
namespace {

/// By argument: the first instruction that writes it, or null.
using Writers = std::unordered_map<std::string, const Instruction*>;

Writers checked_writers(const Kernel& k) {
  Writers writers;
  for (const Argument& a : k.args) writers.emplace(a.name, nullptr);
  for (const InsnPtr& i : k.instructions)
    for (const Expr& l : i->lhs)
      if (const auto it = writers.find(written_name(l)); it != writers.end() && !it->second)
        it->second = i.get();
  for (const Argument& a : k.args) {
    const Instruction* writer = writers.at(a.name);
    const Span& at = a.at ? a.at : k.at;
    if (writer && (a.intent == Intent::In || a.constant)) {
      Diagnostic d;
      d.code = "wrong-intent";
      d.text = fmt::format("`{}` is declared {}, but `{}` writes it", a.name,
                           a.constant ? "constant" : "`in`", writer->id);
      d.where = {at, {}};
      d.notes.push_back({writer->at, "written here"});
      throw Error(std::move(d));
    }
    if (!writer && a.intent == Intent::Out)
      fail("wrong-intent", at, "`{}` is declared `out`, but nothing writes it", a.name);
  }
  return writers;
}

}  // namespace

void check_intents(const Kernel& k) { checked_writers(k); }

std::vector<Intent> intents(const Kernel& k) {
  const Writers writers = checked_writers(k);
  std::unordered_set<std::string> unclear;  // written, and perhaps read
  for (const Argument& a : k.args)
    if (a.intent == Intent::Unknown && writers.at(a.name)) unclear.insert(a.name);
  std::unordered_set<std::string> read;
  if (!unclear.empty())
    for (const InsnPtr& i : k.instructions) {
      for_each_read(k, *i, [&](const std::string& n) {
        if (unclear.contains(n)) read.insert(n);
      });
      if (i->role == ReductionRole::Update)
        for (const Expr& l : i->lhs) read.insert(written_name(l));
    }
  std::vector<Intent> out;
  out.reserve(k.args.size());
  for (const Argument& a : k.args) {
    const bool w = writers.at(a.name) != nullptr, r = read.contains(a.name);
    out.push_back(a.intent != Intent::Unknown ? a.intent
                  : !w                        ? Intent::In
                  : r                         ? Intent::InOut
                                              : Intent::Out);
  }
  return out;
}

}  // namespace moonloop
