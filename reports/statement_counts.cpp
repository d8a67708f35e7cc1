#include "reports/statement_counts.h"

#include <memory>
#include <set>

#include "core/count/mem_counts.h"
#include "core/count/op_counts.h"
#include "core/infer/infer.h"
#include "core/infer/reductions.h"
#include "core/order/check_kernel.h"

namespace moonloop {
namespace {

std::string str(const Val& v) {
  const std::unique_ptr<char, void (*)(void*)> text(isl_val_to_str(v.get()), std::free);
  if (!text) throw_isl();
  return text.get();
}

std::vector<StatementCount> by_statement(const CountMap& counts, const Integers& sizes) {
  std::vector<StatementCount> out;
  const CountMap grouped = counts.group({"instruction"});
  for (const CountMap::Entry& e : grouped.entries())
    out.push_back({e.key.front(), str(e.count.eval(sizes)), e.count.exact()});
  return out;
}

}  // namespace

std::vector<StatementCount> operations_by_statement(const Kernel& k, const Integers& sizes) {
  return by_statement(op_counts(k, {.subgroup_size = {}, .by_instruction = true}), sizes);
}

std::vector<StatementCount> bytes_by_statement(const Kernel& k, const Integers& sizes) {
  return by_statement(mem_counts(k, {.subgroup_size = {}, .by_instruction = true}).to_bytes(),
                      sizes);
}

std::vector<std::pair<std::string, std::string>> statements_of_reductions(const Kernel& k) {
  const std::vector<std::string> known = k.instruction_ids();
  const std::set<std::string> written(known.begin(), known.end());
  std::vector<std::pair<std::string, std::string>> out;
  std::vector<std::string> waiting;  // a reduction's statements come before the one that has it
  for (const std::string& id : realize_reductions(complete(k)).instruction_ids()) {
    if (!written.count(id)) {
      waiting.push_back(id);
      continue;
    }
    for (const std::string& w : waiting) out.emplace_back(w, id);
    waiting.clear();
  }
  return out;
}

}  // namespace moonloop
