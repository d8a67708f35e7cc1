#include "reports/cost_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace moonloop {
namespace {

using CostJson = nlohmann::ordered_json;

/// `1.50 M`, with three digits and a prefix of thousands.
std::string with_prefix(double x) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t n = 0;
  while (x >= 1000 && n + 1 < std::size(kPrefixes)) {
    x /= 1000;
    ++n;
  }
  const int digits = x >= 100 || (n == 0 && x == std::floor(x)) ? 0 : x >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", x, digits, kPrefixes[n]);
}

std::string amount_text(const cost::Bound& b) {
  if (b.amount <= 0) return "";
  const std::string text = with_prefix(b.amount) + b.unit;
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string profile_line(const cost::Prediction& p) {
  return fmt::format("profile: {}, {}\n", p.device,
                     p.measured ? "measured" : "assumed; `moonloop devices --measure` measures it");
}

}  // namespace

std::string seconds_text(double s) {
  const char* unit = s >= 1 ? "s" : s >= 1e-3 ? "ms" : s >= 1e-6 ? "us" : "ns";
  const double x = s >= 1 ? s : s >= 1e-3 ? s * 1e3 : s >= 1e-6 ? s * 1e6 : s * 1e9;
  return fmt::format("{:.{}f} {}", x, x >= 100 ? 0 : x >= 10 ? 1 : 2, unit);
}

std::string cost_text(const CostReport& r) {
  const cost::Prediction& p = r.prediction;
  std::string params;
  for (const auto& [name, value] : r.params) params += fmt::format(", {} = {}", name, value);
  std::string out = fmt::format("{} on {}{}: {}, bound by {}\n", r.kernel, to_string(r.target),
                                params, seconds_text(p.seconds), p.bottleneck().name);
  if (!p.bounds.empty()) {
    std::size_t width = 5;
    for (const cost::Bound& b : p.bounds) width = std::max(width, b.name.size());
    out += fmt::format("  {:<{}}  {:>8}  {:>8}  amount\n", "bound", width, "binds", "alone");
    for (const cost::Bound& b : p.bounds) {
      const std::string binds = b.binding > 0 ? seconds_text(b.binding) : "-";
      std::string line = fmt::format("  {:<{}}  {:>8}  {:>8}  {}", b.name, width, binds,
                                     seconds_text(b.seconds), amount_text(b));
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }
  out += profile_line(p);
  for (const std::string& remark : p.remarks) out += "note: " + remark + "\n";
  return out;
}

std::string cost_json(const CostReport& r) {
  const cost::Prediction& p = r.prediction;
  CostJson bounds = CostJson::array();
  for (const cost::Bound& b : p.bounds)
    bounds.push_back({{"name", b.name},
                      {"binding", b.binding},
                      {"seconds", b.seconds},
                      {"amount", b.amount},
                      {"unit", b.unit}});
  const CostJson out{{"kernel", r.kernel},
                     {"target", to_string(r.target)},
                     {"params", r.params},
                     {"seconds", p.seconds},
                     {"bottleneck", p.bottleneck().name},
                     {"bounds", std::move(bounds)},
                     {"device", p.device},
                     {"measured", p.measured},
                     {"remarks", p.remarks}};
  return out.dump(2, ' ', false, CostJson::error_handler_t::replace) + "\n";
}

}  // namespace moonloop
