// The rules of promotion against NumPy's, for every operator and pair of types, on every target.
#include "core/infer/promotion.h"

#include <cmath>
#include <sstream>

#include "core/order/check_kernel.h"
#include "runtime/npy.h"
#include "tests/python.h"
#include "tests/runtime/device_kit.h"

using namespace moonloop;
using test::device_target;
using test::error_of;

namespace {

constexpr std::int64_t kSamples = 6;

using Words = std::vector<std::string>;

/// A line of promotion.py.
struct Row {
  std::string op, left_kind, right_kind, left, right, result;
  Words values;
};

struct Table {
  std::map<std::string, Words> samples;          // by array
  std::map<std::string, std::vector<Row>> rows;  // by the left operand's type
};

Table read_table() {
  Table out;
  std::istringstream lines(test::printed_by("runtime/promotion.py"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    const Words w{std::istream_iterator<std::string>(words), {}};
    if (w[0] == "sample") {
      out.samples[w[1] + "_" + w[2]] = {w.begin() + 3, w.end()};
    } else {
      out.rows[w[3]].push_back({w[0], w[1], w[2], w[3], w[4], w[5], {w.begin() + 6, w.end()}});
    }
  }
  return out;
}

std::string expression(const Row& r) {
  const std::string x = r.left + "_" + r.left_kind + "[i]",
                    y = r.right + "_" + r.right_kind + "[j]";
  if (r.op == "min" || r.op == "max") return r.op + "(" + x + ", " + y + ")";
  if (r.op == "+neg") return x + " + (-" + y + ")";
  if (r.op == "if") return x + " if (i + j) % 2 == 0 else " + y;
  if (r.op == "cast") return "cast(" + r.right + ", " + x + ")";
  if (r.op == "neg") return "-" + x;
  if (r.op == "abs") return "abs(" + x + ")";
  if (r.op == "~") return "~" + x;
  return x + " " + r.op + " " + y;
}

std::string arguments(const Table& t, bool real = false) {
  std::string out;
  for (const auto& [array, values] : t.samples)
    if (!real || !array.starts_with("complex"))
      out += fmt::format("{}{}: in {}[{}]", out.empty() ? "" : ", ", array,
                         array.substr(0, array.find('_')), kSamples);
  return out;
}

std::complex<double> number(const std::string& text) {
  char* end = nullptr;
  const double re = std::strtod(text.c_str(), &end);
  return {re, *end == ',' ? std::strtod(end + 1, nullptr) : 0};
}

void store(const std::string& text, Scalar s, void* at) {
  ScalarValue v;
  if (is_unsigned(s)) {
    v.i = static_cast<std::int64_t>(std::strtoull(text.c_str(), nullptr, 10));
  } else if (is_integer(s) || s == Scalar::Bool) {
    v.i = std::strtoll(text.c_str(), nullptr, 10);
  } else {
    v.re = number(text).real(), v.im = number(text).imag();
  }
  store_value(s, v, at);
}

/// Whether the element equals NumPy's: to the last bit, except where functions are.
bool agrees(const Row& r, const std::string& expected, Scalar s, const std::byte* at) {
  const std::string found = scalar_text(s, at);
  if (is_integer(s)) return found == expected;
  if (s == Scalar::Bool) return found == (expected == "0" ? "false" : "true");
  const std::complex<double> e = number(expected);
  std::array<std::byte, 16> same{};
  store(expected, s, same.data());
  if (scalar_text(s, same.data()) == found) return true;
  std::complex<double> v = parse_value("v", is_complex(s) ? s : Scalar::F64, found).re;
  if (is_complex(s)) {
    const ScalarValue z = parse_value("v", s, found);
    v = {z.re, z.im};
  }
  if (v == e || (std::isnan(v.real()) && std::isnan(e.real()))) return true;  // of both signs
  if (!std::isfinite(e.real()) || !std::isfinite(e.imag())) return false;
  const bool single = s == Scalar::F32 || s == Scalar::C64 || s == Scalar::F16;
  const bool exact = !is_complex(s) && r.op != "**" && r.op != "abs";
  return !exact && std::abs(v - e) <= std::abs(e) * (single ? 1e-6 : 1e-14);
}

/// All operations with one type on the left: each stores into an array of its type.
struct Operations {
  Kernel kernel;
  std::vector<std::pair<const Row*, int>> rows;  // and where they store
};

bool is_complex_name(const std::string& type) { return type.starts_with("complex"); }

/// Without complex numbers where `real` says so.
Operations operations(const Table& t, const std::string& left, bool real = false) {
  Operations out;
  std::map<std::string, int> count;
  std::string body, results;
  for (const Row& r : t.rows.at(left)) {
    if (r.result == "error") continue;
    if (real && (is_complex_name(r.right) || is_complex_name(r.result))) continue;
    const int n = count[r.result]++;
    body += fmt::format("r_{}[{}, i, j] = {}\n", r.result, n, expression(r));
    out.rows.emplace_back(&r, n);
  }
  for (const auto& [type, n] : count)
    results += fmt::format(", r_{0}: out {0}[{1}, {2}, {2}]", type, n, kSamples);
  out.kernel =
      complete(parsed(fmt::format("kernel with_{}({}{})\ndomain {{[i, j]: 0 <= i, j < {}}}\n{}",
                                  left, arguments(t, real), results, kSamples, body)));
  return out;
}

std::vector<Buffer> inputs(const Table& t, const Kernel& k) {
  std::vector<Buffer> out = make_buffers(k, {});
  for (Buffer& b : out) {
    const auto it = t.samples.find(b.layout().name);
    if (it == t.samples.end()) continue;
    const Scalar s = b.layout().type.scalar;
    for (std::size_t i = 0; i < it->second.size(); ++i)
      store(it->second[i], s,
            static_cast<std::byte*>(b.data()) + i * static_cast<std::size_t>(size_of(s)));
  }
  return out;
}

void check_values(const Operations& all, const std::vector<Buffer>& found,
                  const std::string& where) {
  int wrong = 0;
  for (const auto& [r, n] : all.rows) {
    const auto b = std::find_if(found.begin(), found.end(), [&](const Buffer& x) {
      return x.layout().name == "r_" + r->result;
    });
    const Scalar s = b->layout().type.scalar;
    const auto* data = static_cast<const std::byte*>(b->data());
    for (std::size_t e = 0; e < static_cast<std::size_t>(kSamples * kSamples); ++e) {
      const std::string& expected =
          r->values.size() == kSamples ? r->values[e / kSamples] : r->values[e];
      if (expected == "?") continue;
      const std::byte* at = data + (static_cast<std::size_t>(n * kSamples * kSamples) + e) *
                                       static_cast<std::size_t>(size_of(s));
      if (agrees(*r, expected, s, at) || ++wrong > 10) continue;
      FAIL_CHECK(where << ": " << expression(*r) << " at " << e / kSamples << ", " << e % kSamples
                       << " is " << scalar_text(s, at) << ", in NumPy " << expected);
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("promotion: each operator on each two types gives NumPy's type and values, everywhere") {
  const Table table = read_table();
  REQUIRE(table.rows.size() == 14);
  for (const auto& [left, rows] : table.rows) {
    CAPTURE(left);
    const Operations all = operations(table, left);
    for (std::size_t i = 0; i < all.rows.size(); ++i) {
      const auto& [row, n] = all.rows[i];
      INFO(expression(*row));
      CHECK(type_of(all.kernel, all.kernel.instructions[i]->rhs).str() == row->result);
    }
    std::vector<Buffer> arrays = inputs(table, all.kernel);
    Bindings data = bindings_of({}, arrays);
    interpret(all.kernel, data);
    check_values(all, arrays, "interpreter");
    const auto run = [&](const Operations& all, Target target) {
      const test::Folder folder;
      RunRequest request;
      request.target = target;
      request.compile = {.contract = false, .level = 1};
      for (const Buffer& b : inputs(table, all.kernel)) {
        if (!table.samples.count(b.layout().name)) continue;
        const std::string path = folder / (b.layout().name + ".npy");
        write_npy(path, b);
        request.inputs[b.layout().name] = path;
      }
      check_values(all, run_kernel(all.kernel, all.kernel, request).arrays, to_string(target));
    };
    for (const Target target : {Target::C, Target::OpenMP, device_target()}) run(all, target);
    if (!has_ispc_compiler() || is_complex_name(left)) continue;
    Operations real = operations(table, left, true);
    run(real, Target::Ispc);
    real.kernel = test::step(real.kernel, "tag_inames", {test::word("i:par, j:simd")});
    run(real, Target::Ispc);
  }
}

TEST_CASE("promotion: what NumPy refuses is refused, and what has no order") {
  const Table table = read_table();
  int refused = 0;
  for (const auto& [left, rows] : table.rows)
    for (const Row& r : rows) {
      if (r.result != "error") continue;
      CAPTURE(expression(r));
      const Kernel k =
          parsed(fmt::format("kernel f({}, r)\ndomain {{[i, j]: 0 <= i, j < {}}}\nr[i, j] = {}\n",
                             arguments(table), kSamples, expression(r)));
      const std::string error = error_of([&] { infer_types(k); });
      CHECK(error.ends_with("[bad-operand]"));
      ++refused;
    }
  CHECK(refused > 500);
  CHECK(error_of([&] {
          infer_types(
              parsed("kernel f(a: int64[8], b: uint64[8], r)\ndomain {[i]: 0 <= i < 8}\n"
                     "r[i] = a[i] >> b[i]\n"));
        }) ==
        "int64 and uint64 have no common integer type for `>>` in `a[i] >> b[i]`; cast one of "
        "them [bad-operand]");
}

TEST_CASE("promotion: the table of the language's page is the rule") {
  std::istringstream page(test::slurp(std::string(MOONLOOP_SOURCE_DIR) + "/docs/language.md"));
  std::vector<Words> rows;
  for (std::string line; std::getline(page, line);) {
    if (!rows.empty() && line.find('|') != 0) break;
    if (rows.empty() && line.find("| `+` | `bool` |") != 0) continue;
    for (char& c : line)
      if (c == '|' || c == '`') c = ' ';
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words),
                      std::istream_iterator<std::string>());
  }
  REQUIRE(rows.size() == 16);
  for (std::size_t r = 2; r < rows.size(); ++r)
    for (std::size_t c = 1; c < rows[0].size(); ++c) {
      CAPTURE(rows[r][0]);
      CAPTURE(rows[0][c]);
      const Scalar a = parse_scalar(rows[r][0]).value(), b = parse_scalar(rows[0][c]).value();
      CHECK(Type(promote(a, b)).str() == rows[r].at(c));
    }
}
