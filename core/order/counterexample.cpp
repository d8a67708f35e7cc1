#include "core/order/counterexample.h"

namespace moonloop {

thread_local int WithoutReasons::count_ = 0;

std::vector<std::int64_t> values_at(const std::vector<std::string>& inames,
                                    const std::map<std::string, std::int64_t>& at) {
  std::vector<std::int64_t> out;
  for (const std::string& i : inames) out.push_back(at.at(i));
  return out;
}

}  // namespace moonloop
