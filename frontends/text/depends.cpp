#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/base/diagnostic.h"
#include "core/model/free_names.h"
#include "core/model/match.h"
#include "frontends/text/create.h"

namespace moonloop::text {
namespace {

class Resolution {
 public:
  explicit Resolution(Kernel& k) : k_(k) {
    for (std::size_t n = 0; n < k.instructions.size(); ++n)
      by_id_.emplace(k.instructions[n]->id, static_cast<int>(n));
  }

  /// Instructions whose ids fit, by number. A literal beginning narrows the search.
  std::vector<int> find(const Word& glob) const {
    const std::size_t wild = glob.text.find_first_of("*?[");
    std::vector<int> out;
    if (wild == std::string::npos) {
      if (const auto it = by_id_.find(glob.text); it != by_id_.end()) out.push_back(it->second);
    } else {
      const std::string prefix = glob.text.substr(0, wild);
      for (auto it = by_id_.lower_bound(prefix);
           it != by_id_.end() && it->first.compare(0, prefix.size(), prefix) == 0; ++it)
        if (glob_match(glob.text, it->first)) out.push_back(it->second);
    }
    if (out.empty()) {
      std::vector<std::string> ids = k_.instruction_ids();
      if (ids.size() > 1000) ids.clear();
      fail("unknown-dependency", glob.at, "no instruction `{}`{}", glob.text,
           did_you_mean(glob.text, ids));
    }
    return out;
  }

  std::vector<int> query(const Word& text) const {
    const Match match = Match::parse(text.text, text.at);
    std::vector<int> out;
    for (std::size_t n = 0; n < k_.instructions.size(); ++n)
      if (match(k_, *k_.instructions[n])) out.push_back(static_cast<int>(n));
    return out;
  }

 private:
  const Kernel& k_;
  std::map<std::string, int> by_id_;
};

/// Temporaries and `out` arguments are defined before they are used, whatever the text says.
class Definitions {
 public:
  explicit Definitions(const Kernel& k) {
    std::unordered_set<std::string> outputs;
    for (const Argument& a : k.args)
      if (a.intent == Intent::Out) outputs.insert(a.name);
    const auto defined_here = [&](const std::string& name) {
      const Temporary* t = k.find_temporary(name);
      return t ? !t->initializer : outputs.contains(name);
    };
    for (std::size_t n = 0; n < k.instructions.size(); ++n)
      for (const Expr& l : k.instructions[n]->lhs) {
        const auto [it, fresh] =
            number_.try_emplace(written_name(l), static_cast<int>(variables_.size()));
        if (fresh) variables_.push_back({{}, defined_here(it->first)});
        std::vector<int>& writers = variables_[static_cast<std::size_t>(it->second)].writers;
        if (writers.empty() || writers.back() != static_cast<int>(n))
          writers.push_back(static_cast<int>(n));
      }
    NameCollector collect(k.rules);
    for (const InsnPtr& insn : k.instructions) {
      const Names names = collect.of(*insn);
      std::vector<int>& mine = reads_.emplace_back();
      for (const auto* all : {&names.vars, &names.arrays})
        for (const std::string& n : *all)
          if (const auto it = number_.find(n); it != number_.end()) mine.push_back(it->second);
    }
  }

  /// The instructions after `reader` that are the only ones to define something it reads.
  std::vector<int> late(int reader) {
    std::vector<int> out;
    for (const int v : reads_[static_cast<std::size_t>(reader)]) {
      const auto& [writers, here] = variables_[static_cast<std::size_t>(v)];
      if (!here || writers.size() != 1 || writers[0] <= reader) continue;
      if (!feeds(reader, writers[0])) out.push_back(writers[0]);
    }
    return out;
  }

 private:
  /// Whether `writer` needs, directly or through instructions between them, the result of `reader`:
  /// then the value read is that of an earlier iteration.
  bool feeds(int reader, int writer) {
    std::vector<int> todo{writer};
    std::set<int> seen{writer};
    while (!todo.empty()) {
      const std::vector<int>& reads = reads_[static_cast<std::size_t>(todo.back())];
      todo.pop_back();
      for (const int v : reads) {
        const std::vector<int>& w = variables_[static_cast<std::size_t>(v)].writers;
        for (auto p = std::lower_bound(w.begin(), w.end(), reader); p != w.end() && *p < writer;
             ++p) {
          if (*p == reader) return true;
          if (seen.insert(*p).second) todo.push_back(*p);
        }
      }
    }
    return false;
  }

  /// A variable that some instruction writes.
  struct Variable {
    std::vector<int> writers;  // ascending
    bool defined_here;         // the kernel gives it its first value
  };
  std::unordered_map<std::string, int> number_;
  std::vector<Variable> variables_;
  std::vector<std::vector<int>> reads_;  // by instruction: the variables it reads
};

}  // namespace

void resolve_dependencies(Kernel& k, const std::vector<Wanted>& wanted, Errors& errors) {
  const Resolution ids(k);
  Definitions definitions(k);
  for (std::size_t n = 0; n < k.instructions.size(); ++n) {
    const int me = static_cast<int>(n);
    const Wanted& w = wanted[n];
    std::set<int> before;
    std::vector<NoSync> no_sync;
    for (const Word& glob : w.globs)
      errors.guard([&] {
        for (int i : ids.find(glob)) before.insert(i);
      });
    for (const Word& q : w.queries)
      errors.guard([&] {
        for (int i : ids.query(q)) before.insert(i);
      });
    for (const Options::Query& q : w.no_sync_queries)
      errors.guard([&] {
        for (int i : ids.query(q.match))
          if (i != me)
            no_sync.push_back({k.instructions[static_cast<std::size_t>(i)]->id, q.scope});
      });
    if (!w.final)
      for (int i : definitions.late(me)) before.insert(i);
    before.erase(me);
    if (before.empty() && no_sync.empty()) continue;
    k.instructions[n] = edit(k.instructions[n], [&](Instruction& i) {
      for (int b : before) i.depends_on.push_back(k.instructions[static_cast<std::size_t>(b)]->id);
      i.no_sync.insert(i.no_sync.end(), no_sync.begin(), no_sync.end());
    });
  }
}

}  // namespace moonloop::text
