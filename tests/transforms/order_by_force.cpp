#include <cstring>
#include <random>

#include "core/interpreter/interpreter.h"
#include "core/model/lookup.h"
#include "core/order/reordered.h"
#include "loop_kit.h"

/// The proof of reordering against brute force: random small nests and random steps. Accepted steps
/// must compute the same, run by the interpreter; refused ones should compute something else.

using namespace moonloop;

namespace {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int upto(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  template <class T>
  const T& pick(const std::vector<T>& v) {
    return v[static_cast<std::size_t>(upto(static_cast<int>(v.size())))];
  }

 private:
  std::mt19937 engine_;
};

const int kSide = 16;  // arrays are kSide*kSide; subscripts are between 2 and 13

std::string offset(Random& r, const std::string& iname) {
  const int o = 4 + r.upto(5) - 2;
  return iname + " + " + std::to_string(o);
}

std::string access(Random& r, const std::string& i, const std::string& j) {
  const std::string name = r.pick<std::string>({"a", "a", "b", "c"});
  switch (r.upto(8)) {
    case 0: return fmt::format("{}[{}, 3]", name, offset(r, i));
    case 1: return fmt::format("{}[{}, 3]", name, offset(r, j));
    case 2: return fmt::format("{}[{}, {}]", name, offset(r, j), offset(r, i));
    case 3: return fmt::format("{}[9 - {}, {}]", name, i, offset(r, j));
    case 4: return fmt::format("{}[{} + {} + 1, 3]", name, i, j);
    default: return fmt::format("{}[{}, {}]", name, offset(r, i), offset(r, j));
  }
}

std::string statement(Random& r, const std::string& i, const std::string& j,
                      const std::string& id) {
  std::string guard;
  if (r.upto(5) == 0)
    guard = r.pick<std::string>(
        {", if=" + i + " > 1", ", if=" + i + " != " + j, ", if=(" + i + " + " + j + ") % 2 == 0"});
  return fmt::format("{} = (3*{} + 5*{} + {} + 7*{} + 1) % 1000003 {{id={}{}}}\n", access(r, i, j),
                     access(r, i, j), access(r, i, j), i, j, id, guard);
}

struct Case {
  std::string text;
  std::string step;  // Lua-like, for messages
  std::string op;
  ValueList positional;
  ValueDict options;
};

Case random_case(Random& r) {
  Case c;
  const bool two = r.upto(2) == 0;
  const auto domain = [&](const std::string& i, const std::string& j, int shape) {
    const char* const shapes[] = {
        "0 <= {0} < 5 and 0 <= {1} < 4", "0 <= {0} < 5 and 0 <= {1} <= {0}",
        "0 <= {0} < 5 and {0} <= {1} < {0} + 3", "0 <= {0} < 5 and 0 <= {1} < 6 and {1} mod 2 = 0"};
    return fmt::format("domain {{[{0}, {1}]: {2}}}\n", i, j,
                       fmt::format(fmt::runtime(shapes[shape]), i, j));
  };
  const int shape = r.upto(4);
  c.text =
      fmt::format("kernel f(a: int64[{0}, {0}], b: int64[{0}, {0}], c: int64[{0}, {0}])\n", kSide) +
      domain("i", "j", shape);
  if (two) c.text += domain("k", "l", shape);
  c.text += statement(r, "i", "j", "x");
  c.text += two ? statement(r, "k", "l", "y") : r.upto(2) ? statement(r, "i", "j", "y") : "";
  const bool has_y = c.text.find("id=y") != std::string::npos;
  const auto set = [&](const std::string& op, ValueList positional, ValueDict options = {}) {
    c.op = op;
    c.positional = std::move(positional);
    c.options = std::move(options);
  };
  const int kind = r.upto(two || has_y ? 7 : 5);
  if (kind == 0) set("prioritize_loops", {text("j, i")});
  if (kind == 1)
    set("map_domain", {text(r.pick<std::string>(
                          {"{ [i, j] -> [t, j] : t = i + j }", "{ [i, j] -> [t, i] : t = 2i + j }",
                           "{ [i, j] -> [r, j] : r = -i }", "{ [i, j] -> [i, r] : r = 5 - j }",
                           "{ [i, j] -> [p, i, j] : p = i mod 2 }"}))});
  if (kind == 2) set("split_iname", {text(r.pick<std::string>({"i", "j"})), number(1 + r.upto(4))});
  if (kind == 3 && shape == 2)
    set("join_inames", {text("i, j")});
  else if (kind == 3)
    set("join_inames", {text(shape == 1 ? "i, j" : r.pick<std::string>({"i, j", "j, i"}))});
  if (kind == 4) set("rename_iname", {text("i"), text("z")});
  if (kind >= 5 && two) {
    set("rename_iname", {text("k"), text("i")}, {{"existing_ok", flag(true)}});
  } else if (kind >= 5) {
    set("duplicate_inames", {text(r.pick<std::string>({"i, j", "i, j", "j"})), text("id:y")});
  }
  return c;
}

using Image = std::vector<std::int64_t>;

Image run(const Kernel& k) {
  Image memory(3 * kSide * kSide);
  std::mt19937 fill(7);
  for (std::int64_t& x : memory) x = static_cast<std::int64_t>(fill() % 1000);
  Bindings data;
  const char* const names[] = {"a", "b", "c"};
  for (int n = 0; n < 3; ++n) {
    ArrayView v;
    v.type = Scalar::I64;
    v.shape = {kSide, kSide};
    v.strides = {kSide, 1};
    v.data = memory.data() + n * kSide * kSide;
    data.arrays[names[n]] = v;
  }
  interpret(k, data);
  return memory;
}

/// Two fused pairs need both inames merged; the second step follows the first.
Kernel steps(const Kernel& k, const Case& c, Proof proof = Proof::Made) {
  Kernel out = apply(k, c.op, c.positional, c.options, proof);
  if (c.op == "rename_iname" && !c.options.empty())
    out = apply(out, "rename_iname", {text("l"), text("j")}, c.options, proof);
  return out;
}

}  // namespace

TEST_CASE("reordering agrees with brute force in both directions") {
  Random r(20240611);
  int accepted = 0, refused = 0, other = 0, harmless = 0;
  for (int n = 0; n < 600; ++n) {
    const Case c = random_case(r);
    CAPTURE(n);
    CAPTURE(c.text);
    CAPTURE(c.op);
    CAPTURE(to_lua(Value{c.positional}));
    const Kernel before = parsed(c.text);
    const Image wanted = run(before);
    Kernel after;
    std::string code = "legal", said;
    try {
      after = steps(before, c);
    } catch (const Refused& e) {
      code = e.diagnostic().code;
      said = e.what();
    }
    CAPTURE(said);
    if (code == "legal") {
      ++accepted;
      CHECK(run(after) == wanted);
    } else if (code == "breaks-order") {
      ++refused;
      harmless += run(steps(before, c, Proof::LeftOut)) == wanted;
    } else {
      ++other;
    }
  }
  MESSAGE(accepted, " accepted, ", refused, " refused for their order, ", other,
          " for other reasons, ", harmless, " of the refused without effect on this data");
  CHECK(accepted > 200);
  CHECK(refused > 50);
  // Values that are overwritten unread hide some wrong orders from the result.
  CHECK(harmless * 10 <= refused);
}

TEST_CASE("parallel loops agree with brute force: iterations in any order") {
  Random r(77);
  int accepted = 0, refused = 0, harmless = 0;
  const std::vector<std::string> orders{"{ [i, j] -> [r, j] : r = -i }",
                                        "{ [i, j] -> [p, i, j] : p = i mod 2 }",
                                        "{ [i, j] -> [p, i, j] : p = -(i mod 3) }"};
  for (int n = 0; n < 300; ++n) {
    const std::string head = fmt::format(
        "kernel f(a: int64[{0}, {0}], b: int64[{0}, {0}], c: int64[{0}, {0}])\n", kSide);
    std::string text_of =
        head + "domain {[i, j]: 0 <= i < 5 and 0 <= j < 4}\n" + statement(r, "i", "j", "x");
    if (r.upto(2)) text_of += statement(r, "i", "j", "y");
    CAPTURE(text_of);
    const Kernel before = parsed(text_of);
    const Image wanted = run(before);
    const std::string code = code_of([&] { apply(before, "tag_inames", {text("i:par")}); });
    bool same = true;
    for (const std::string& o : orders) {
      const bool equal = run(apply(before, "map_domain", {text(o)}, {}, Proof::LeftOut)) == wanted;
      if (code == "legal") CHECK(equal);
      same &= equal;
    }
    (code == "legal" ? accepted : refused) += 1;
    harmless += code != "legal" && same;
  }
  MESSAGE(accepted, " accepted, ", refused, " refused, ", harmless, " of them without effect here");
  CHECK(accepted > 50);
  CHECK(refused > 50);
  CHECK(harmless * 5 <= refused);
}
