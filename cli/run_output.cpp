#include "cli/run_output.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/peak_rates.h"
#include "runtime/memory.h"

namespace moonloop::cli {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kFirst = 6;

std::string sum_text(const Buffer& b, const Checksum& sum) {
  const Type& t = b.layout().type;
  if (!t.is_record() && is_complex(t.scalar))
    return fmt::format("{:.15g}{:+.15g}j", sum.re, sum.im);
  return fmt::format("{:.15g}", sum.re);
}

std::string array_text(const Buffer& b) {
  const Checksum sum = b.checksum();
  const std::vector<std::string> first = b.first(kFirst);
  const bool more = b.layout().elements() > static_cast<std::int64_t>(first.size());
  return fmt::format("{}: {}  sum {}  hash {:016x}\n  {}{}\n", b.layout().name, b.layout().str(),
                     sum_text(b, sum), sum.bytes, fmt::join(first, " "), more ? " ..." : "");
}

/// `; 2 undecided, because rounding may turn what decides them, or a conversion does not fit`
std::string undecided_text(const Comparison& c) {
  if (c.undecided == 0) return {};
  return fmt::format(
      "; {} undecided, because rounding may turn what decides {}, or a conversion does not fit",
      c.undecided, c.undecided == 1 ? "it" : "them");
}

/// Computes in double precision, as far as its arrays say.
bool is_double(const Kernel& k) {
  return std::any_of(k.args.begin(), k.args.end(), [](const Argument& a) {
    return a.type && !a.type->is_record() && a.type->scalar == Scalar::F64;
  });
}

std::string timing_text(const Timing& t, const std::optional<Work>& work,
                        const std::optional<PeakRates>& rates, bool in_double) {
  std::string out = fmt::format(
      "time: {:>10} {:>24} {:>12} {:>12} {:>6}\n"
      "      {:>10} {:>24} {:>12} {:>12} {:>6}\n",
      "median", "quartiles", "least", "most", "runs", duration(t.median),
      duration(t.lower_quartile) + " - " + duration(t.upper_quartile), duration(t.least),
      duration(t.most), t.runs);
  if (!work) return out + "rate: not known, because the work depends on data\n";
  const std::string bound = work->exact ? "" : "at most ";
  const auto rate = [&](std::int64_t n) { return static_cast<double>(n) / t.median / 1e9; };
  out += fmt::format("rate: {}{:.2f} GFLOP/s", bound, rate(work->flops));
  if (work->flops == 0 && work->integer_ops > 0)
    out += fmt::format(", {}{:.2f} Gop/s (integers)", bound, rate(work->integer_ops));
  out += fmt::format(", {}{:.2f} GB/s\n", bound, rate(work->bytes_read + work->bytes_written));
  if (rates) {
    const double peak = in_double ? rates->twice : rates->single;
    const double bytes = rate(work->bytes_read + work->bytes_written);
    if (peak > 0)
      out += fmt::format(
          "of what was measured of the device: {:.1f}% of its arithmetic, {:.1f}% of "
          "its copies\n",
          1e11 * rate(work->flops) / peak, 1e11 * bytes / rates->copy);
  }
  out += fmt::format("work: {} flops, {} read, {} written\n", work->flops,
                     bytes_text(static_cast<double>(work->bytes_read)),
                     bytes_text(static_cast<double>(work->bytes_written)));
  return out;
}

/// A number as it is, anything else as a string.
Json value(const std::string& text) { return Json::accept(text) ? Json::parse(text) : Json(text); }
Json value(double x) { return std::isfinite(x) ? Json(x) : Json(fmt::format("{}", x)); }

Json array_json(const Buffer& b) {
  const Checksum sum = b.checksum();
  Json first = Json::array();
  for (const std::string& s : b.first(kFirst)) first.push_back(value(s));
  const Type& t = b.layout().type;
  Json out{{"name", b.layout().name}, {"type", t.str()}, {"shape", b.layout().shape}};
  out["sum"] = value(sum.re);
  if (!t.is_record() && is_complex(t.scalar)) out["sum_imag"] = value(sum.im);
  out["hash"] = fmt::format("{:016x}", sum.bytes);
  out["first"] = std::move(first);
  return out;
}

Json verification_json(const Verification& v) {
  Json arrays = Json::array();
  for (const Comparison& c : v.arrays) {
    Json a{{"name", c.array},      {"elements", c.elements},   {"different", c.different},
           {"rounded", c.rounded}, {"undecided", c.undecided}, {"largest", value(c.largest)}};
    if (!c.equal()) {
      a["bound"] = value(c.bound);
      a["index"] = c.index;
      a["expected"] = value(c.expected);
      a["found"] = value(c.found);
    }
    arrays.push_back(std::move(a));
  }
  Json out{{"equal", v.equal()}, {"seconds", v.seconds}, {"arrays", std::move(arrays)}};
  for (const auto& [name, why] : v.left_out)
    out["left_out"].push_back({{"name", name}, {"reason", why}});
  return out;
}

}  // namespace

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

std::string comparison_text(const Comparison& c) {
  if (!c.equal()) {
    const std::string allowed =
        c.bound > 0 ? fmt::format(", which may differ by {:.2g}", c.bound) : "";
    return fmt::format("{}: {} of {} elements differ; first {}{}: expected {}, got {}{}{}", c.array,
                       c.different, c.elements, c.array, c.index, c.expected, c.found, allowed,
                       undecided_text(c));
  }
  if (c.largest == 0)
    return fmt::format("{}: equal, {} elements{}", c.array, c.elements, undecided_text(c));
  return fmt::format("{}: equal to rounding, {} elements, largest difference {:.2g} of its bound{}",
                     c.array, c.elements, c.largest, undecided_text(c));
}

std::string run_text(const Kernel& k, Target target, const RunResult& result) {
  std::string out = fmt::format("{} on {}", k.name, to_string(target));
  for (const ScalarArgument& s : result.scalars)
    out += fmt::format(", {} = {}{}", s.name, s.text(), s.made_up ? " (made up)" : "");
  out += "\n";
  for (const std::string& name : result.written) out += array_text(result.array(name));
  if (result.verification) {
    out += fmt::format("verify: {}", result.verification->equal() ? "equal" : "DIFFERENT");
    if (result.timing)  // without times, two runs print the same
      out += fmt::format(" (interpreter: {})", duration(result.verification->seconds));
    out += "\n";
    for (const Comparison& c : result.verification->arrays) out += "  " + comparison_text(c) + "\n";
    for (const auto& [name, why] : result.verification->left_out)
      out += fmt::format("  {}: not compared: it {}\n", name, why);
  }
  if (result.timing)
    out += timing_text(*result.timing, result.work, known_peak_rates(target, result.device),
                       is_double(k));
  return out;
}

std::string run_json(const Kernel& k, Target target, const RunResult& result) {
  Json out{{"kernel", k.name}, {"target", to_string(target)}};
  out["scalars"] = Json::array();
  for (const ScalarArgument& s : result.scalars)
    out["scalars"].push_back({{"name", s.name},
                              {"type", s.type.str()},
                              {"value", value(s.text())},
                              {"given", !s.made_up}});
  out["arrays"] = Json::array();
  for (const std::string& name : result.written)
    out["arrays"].push_back(array_json(result.array(name)));
  out["compile_seconds"] = result.compile_seconds;
  if (result.verification) out["verify"] = verification_json(*result.verification);
  if (const auto& t = result.timing) {
    out["time"] = {{"runs", t->runs},
                   {"median", t->median},
                   {"lower_quartile", t->lower_quartile},
                   {"upper_quartile", t->upper_quartile},
                   {"least", t->least},
                   {"most", t->most}};
    if (result.work) {
      const auto rate = [&](std::int64_t n) { return static_cast<double>(n) / t->median / 1e9; };
      out["time"]["gflops"] = rate(result.work->flops);
      out["time"]["gigabytes_per_second"] =
          rate(result.work->bytes_read + result.work->bytes_written);
      if (const auto c = known_peak_rates(target, result.device)) {
        const double peak = is_double(k) ? c->twice : c->single;
        if (peak > 0) out["time"]["of_arithmetic"] = 1e9 * rate(result.work->flops) / peak;
        out["time"]["of_copies"] =
            1e9 * rate(result.work->bytes_read + result.work->bytes_written) / c->copy;
      }
    }
  }
  if (const auto& w = result.work)
    out["work"] = {{"flops", w->flops},
                   {"integer_ops", w->integer_ops},
                   {"instances", w->instances},
                   {"bytes_read", w->bytes_read},
                   {"bytes_written", w->bytes_written},
                   {"exact", w->exact}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace moonloop::cli
