#include <algorithm>

#include "codegen/lower.h"
#include "codegen/plan/sync_counts.h"
#include "core/count/mem_counts.h"
#include "core/count/op_counts.h"
#include "core/infer/infer.h"
#include "core/order/check_kernel.h"
#include "core/order/shared_storage.h"
#include "reports/report.h"

namespace moonloop {
namespace {

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out += "  " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

class CountReport {
 public:
  CountReport(const Kernel& k, const StatsOptions& options) : k_(k), options_(options) {}

  std::string text() {
    std::optional<Count> operations, moved, touched;
    section("operations", [&] {
      const CountMap all = op_counts(k_);
      operations = flops(all);
      return all.group({"dtype", "name"});
    });
    section("accesses", [&] {
      const CountMap all = mem_counts(k_);
      moved = all.to_bytes().sum();
      return all.group({"mtype", "direction", "variable", "dtype"});
    });
    section("footprints, in elements", [&] {
      CountMap all = footprints(k_);
      touched = all.to_bytes().sum();
      return all;
    });
    if (options_.target)
      section("synchronization", [&] {
        const Kernel done = merge_shared_storage(complete(k_));
        return sync_counts(make_plan(done, *options_.target)).group({"kind"});
      });
    if (operations) line("flops", *operations);
    if (moved) line("bytes accessed", *moved);
    if (touched) line("bytes touched", *touched);
    if (operations && moved) intensity("flops per byte accessed", *operations, *moved);
    if (operations && touched) intensity("flops per byte touched", *operations, *touched);
    return std::move(out_);
  }

 private:
  template <class F>
  void section(const std::string& title, F count) {
    out_ += title + "\n";
    try {
      const CountMap counts = count();
      const auto& all = counts.entries();
      const bool known = !options_.values.empty() &&
                         std::all_of(all.begin(), all.end(),
                                     [&](const CountMap::Entry& e) { return has_values(e.count); });
      out_ += all.empty() ? "  none\n" : indented(counts.str(known ? &options_.values : nullptr));
    } catch (const Error& e) { out_ += "  not counted: " + e.diagnostic().text + "\n"; }
  }

  bool has_values(const Count& c) const {
    const std::vector<std::string> names = c.parameters();
    return std::all_of(names.begin(), names.end(),
                       [&](const std::string& n) { return options_.values.count(n) > 0; });
  }
  void line(const std::string& name, const Count& c) {
    out_ += name + "  ";
    if (has_values(c) && !c.parameters().empty())
      out_ += fmt::format("{} = ", c.number_at(options_.values));
    out_ += c.str() + "\n";
  }
  /// Numbers only: a quotient of formulas says less than the two above it.
  void intensity(const std::string& name, const Count& operations, const Count& bytes) {
    if (!has_values(operations) || !has_values(bytes)) return;
    const std::int64_t n = bytes.number_at(options_.values);
    if (n == 0) return;
    const auto f = static_cast<double>(operations.number_at(options_.values));
    out_ += fmt::format("{}  {}{:.4g}\n", name, operations.exact() && bytes.exact() ? "" : "about ",
                        f / static_cast<double>(n));
  }

  const Kernel& k_;
  const StatsOptions& options_;
  std::string out_;
};

}  // namespace

std::string report_counts(const Kernel& k, const StatsOptions& options) {
  return CountReport(k, options).text();
}

}  // namespace moonloop
