#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/browser.h"
#include "tests/cli/harness.h"

/// The page of `moonloop view`: its content, and that a browser shows it.

using namespace moonloop::test;  // NOLINT
using Json = nlohmann::json;

namespace {

std::string page(const std::string& arguments, const Folder& f, const std::string& name) {
  const Outcome o =
      tool("view " + arguments + " -o " + (f.str() + "/" + name), (kRoot / "examples").string());
  REQUIRE_MESSAGE(o.status == 0, o.err);
  return f.read(name);
}

/// Codes as lists of [line, statement], as the page's own script has them after it began.
void unpack_codes(Json& data) {
  Json lines = Json::array();
  for (const Json& l : data["lines"]) {
    const Json& form = data["forms"][l[0].get<std::size_t>()];
    std::string line;
    std::size_t next = 1;
    for (const char c : form[0].get<std::string>()) {
      if (c != '`')
        line += c;
      else if (const Json& part = l.at(next++); part.is_string())
        line += part.get<std::string>();
      else
        line += std::to_string(part.get<long long>());
    }
    lines.push_back({line, form[1]});
  }
  std::vector<Json> all;
  for (Json& state : data["states"])
    for (auto& [target, code] : state["code"].items()) {
      if (!code.is_array()) continue;
      std::vector<Json> out;
      for (const Json& part : code)
        if (part.is_number())
          out.push_back(lines.at(part.get<std::size_t>()));
        else
          for (std::size_t i = 0; i < part[1].get<std::size_t>(); ++i)
            out.push_back(all.at(part[0].get<std::size_t>() + i));
      all.insert(all.end(), out.begin(), out.end());
      code = out;
    }
}

Json data_of(const std::string& page) {
  const std::string begin = "const data = ";
  const std::size_t from = page.find(begin) + begin.size();
  Json data = Json::parse(page.substr(from, page.find(";\n", from) - from));
  unpack_codes(data);
  return data;
}

std::string joined(const Json& lines) {
  std::string out;
  for (const Json& l : lines) out += l[0].get<std::string>() + "\n";
  return out;
}

}  // namespace

TEST_CASE("view: each step's text, code and tree are what the other commands print") {
  const Folder f;
  const std::string arguments = "edit/edit.loop -t edit/diagonals.lua";
  const std::string text = page(arguments, f, "edit.html");
  const Json data = data_of(text);
  const std::string examples = (kRoot / "examples").string();
  REQUIRE(data["states"].size() == 4);
  CHECK(data["states"][0]["text"] == tool("show edit/edit.loop", examples).out);
  const Json& last = data["states"][3];
  CHECK(last["text"] == tool("show " + arguments, examples).out);
  CHECK(last["title"] == "split_iname(\"i\", 64, {inner_tag = \"l.0\", outer_tag = \"g.0\"})");
  for (const std::string target : {"c", "openmp", "opencl", "cuda"}) {
    CAPTURE(target);
    CHECK(joined(last["code"][target]) ==
          tool("gen " + arguments + " --target " + target, examples).out);
    int marked = 0;
    for (const Json& l : last["code"][target]) marked += l[1] == "insn";
    CHECK(marked >= 2);
  }
  CHECK(last["tree"][0]["iname"] == "j_skewed");
  CHECK(last["tree"][0]["children"][0]["tag"] == "g.0");
  CHECK(last["deps"].size() == 3);
  // It needs nothing from elsewhere, and no text in it ends its script.
  std::string rest = text;
  const std::string allowed = "http://www.w3.org/2000/svg";
  for (std::size_t at = 0; (at = rest.find(allowed)) != std::string::npos;)
    rest.erase(at, allowed.size());
  CHECK(rest.find("://") == std::string::npos);
  CHECK(text.find("</script>") == text.rfind("</script>"));
  CHECK(text.size() < 2'000'000);
}

TEST_CASE("view: pages of unrolled loops are small, and hold all that gen prints") {
  const Folder f;
  const std::string arguments = "gpu/gemm.loop --kernel sgemm -t gpu/gemm.lua";
  const std::string text = page(arguments, f, "gemm.html");
  CHECK(text.size() < 1'000'000);
  const Json data = data_of(text);
  REQUIRE(data["states"].size() == 26);
  for (const std::string target : {"opencl", "cuda"}) {
    CAPTURE(target);
    CHECK(joined(data["states"][25]["code"][target]) ==
          tool("gen " + arguments + " --target " + target, (kRoot / "examples").string()).out);
  }
}

TEST_CASE("view: lines of code keep their digits, and what stands for these elsewhere") {
  const Folder f;
  f.write("k.loop",
          "kernel k(a: float64[8])\nexternal f: float64\ndomain {[i]: 0 <= i < 8}\n"
          "a[i] = 1e-05 + 0.001 + 9007199254740993.0 + 1234567890*i   {id=x01}\n"
          "a[0] = f(\"a`b 007 `\")\n");
  const Json data = data_of(page(f.str() + "/k.loop", f, "k.html"));
  const std::string code = joined(data["states"][0]["code"]["c"]);
  CHECK(contains(code, " = 1e-05 + 0.001 + 9007199254740992.0 + 1234567890*i;\n"));
  CHECK(contains(code, "a[0] = f_(\"a`b 007 `\", 9);\n"));
}

TEST_CASE("view: instances in the order of their execution, by the loops of the first kernel") {
  const Folder f;
  const Json data =
      data_of(page("edit/edit.loop -t edit/diagonals.lua -p n=2 -p m=3", f, "e.html"));
  const auto drawn = [&](std::size_t state) {
    const Json& s = data["states"][state]["space"][0];
    CHECK(s["axes"] == Json({"i", "j"}));
    std::vector<std::pair<int, std::pair<int, int>>> out;
    for (const Json& p : s["points"])
      out.push_back({p[1].get<int>(), {p[0][0].get<int>(), p[0][1].get<int>()}});
    std::sort(out.begin(), out.end());
    std::vector<std::pair<int, int>> places;
    for (const auto& [rank, place] : out) places.push_back(place);
    return places;
  };
  using ProgramPoints = std::vector<std::pair<int, int>>;
  CHECK(drawn(0) == ProgramPoints{{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}, {2, 3}});  // row by row
  CHECK(drawn(3) == ProgramPoints{{1, 1}, {1, 2}, {2, 1}, {1, 3}, {2, 2}, {2, 3}});  // by diagonals
  for (const Json& state : data["states"]) {
    const Json& s = state["space"][0];
    CHECK(s["arrows"].size() == 9);  // to the right 4, down 3, along the diagonal 2
    CHECK(s["all_arrows"] == true);
    for (const Json& a : s["arrows"])
      CHECK(s["points"][a[0].get<std::size_t>()][1] < s["points"][a[1].get<std::size_t>()][1]);
  }
}

TEST_CASE("view: tiles are the iterations of loops that step over values") {
  const Folder f;
  f.write("k.loop",
          "kernel k(n: int32, m: int32, a: inout float64[n, m])\n"
          "domain {[i, j]: 0 <= i < n and 0 <= j < m}\na[i, j] = 2*a[i, j]\n");
  f.write("t.lua",
          "k = lp.split_iname(k, \"i\", 4)\nk = lp.split_iname(k, \"j\", 3)\n"
          "k = lp.prioritize_loops(k, \"i_outer, j_outer, i_inner, j_inner\")\n"
          "k = lp.rename_iname(k, \"i_outer\", \"tile\")\n");
  const std::string there = f.str() + "/";
  const Json data =
      data_of(page(there + "k.loop -t " + there + "t.lua -p n=6 -p m=5", f, "t.html"));
  CHECK(data["states"][0]["space"][0]["tiles"].empty());
  const auto tiles = [&](std::size_t state) {
    const Json& s = data["states"][state]["space"][0];
    std::map<std::size_t, std::set<std::pair<int, int>>> out;  // by tile, of which elements
    for (std::size_t i = 0; i < s["points"].size(); ++i) {
      const Json& p = s["points"][i][0];
      out[s["tiles"][i].get<std::size_t>()].insert({p[0].get<int>(), p[1].get<int>()});
    }
    return out;
  };
  CHECK(tiles(1).size() == 2);
  for (const std::size_t state : {2, 4}) {
    const auto found = tiles(state);
    CHECK(found.size() == 4);
    for (const auto& [number, elements] : found) {
      const auto [i, j] = *elements.begin();
      for (const auto& [x, y] : elements) CHECK((x / 4 == i / 4 && y / 3 == j / 3));
    }
  }
}

TEST_CASE("view: assumed sizes are met, what cannot be had says why, other kernels are refused") {
  const Folder f;
  const Json tiled = data_of(page("matmul/matmul.loop -t matmul/tiled.lua", f, "m.html"));
  CHECK(tiled["sizes"]["n"] == 32);  // it assumes a multiple of 32
  const Json larger = data_of(page("matmul/matmul.loop -t matmul/tiled.lua -p n=64", f, "l.html"));
  CHECK(larger["sizes"]["n"] == 64);
  const Json hydro = data_of(page("fortran/hydro.f90", f, "h.html"));
  CHECK(hydro["states"].back()["code"]["cuda"]["error"].get<std::string>().find("`par`") !=
        std::string::npos);
  const std::string examples = (kRoot / "examples").string();
  const auto refused = [&](const std::string& size) {
    const Outcome out = tool("view matmul/matmul.loop -t matmul/tiled.lua -p " + size, examples);
    CHECK(out.status == 1);
    return out.err;
  };
  CHECK(refused("m=64").find("[unknown-parameter]") != std::string::npos);
  CHECK(refused("n=many").find("[bad-value]") != std::string::npos);
  CHECK(refused("n=33").find("[assumption-violated]") != std::string::npos);
  const Outcome o = tool("view gpu/gemm.loop", examples);
  CHECK(o.status == 1);
  CHECK(o.err.find("[which-kernel]") != std::string::npos);
  CHECK(tool("view matmul/matmul.loop -o /nowhere/x.html", examples).status == 1);
}

TEST_CASE("view: a statement that is not drawn has its reason") {
  const Folder f;
  const auto reasons = [&](const std::string& kernel, const std::string& sizes) {
    f.write("k.loop", kernel);
    const Json state = data_of(page(f.str() + "/k.loop " + sizes, f, "k.html"))["states"][0];
    return state["left_out"];
  };
  CHECK(reasons(kDouble, "-p n=8").empty());
  CHECK(reasons(kDouble, "-p n=100000") == Json::array({"`double` has more than 1100 instances"}));
  CHECK(reasons("kernel k(n: int32, a: float64[n, n, n, n])\n"
                "domain {[i, j, l, m]: 0 <= i, j, l, m < n}\na[i, j, l, m] = 1   {id=four}\n",
                "-p n=2") == Json::array({"`four` is in 4 loops"}));
  CHECK(reasons("kernel k(a: float64[1])\na[0] = 1   {id=alone}\n", "") ==
        Json::array({"`alone` is in no loop"}));
  CHECK(reasons("kernel k(n: int32, s: int32[n+1], y: float64[n])\n"
                "domain {[i]: 0 <= i < n}\ndomain [len] -> {[j]: 0 <= j < len}\n"
                "<int32> len = s[i + 1] - s[i]   {id=length}\ny[i] = sum(j, 1.0*j)   {id=row}\n",
                "-p n=4") == Json::array({"`row_update` has bounds that depend on data"}));
}

TEST_CASE("view: at a terminal each state is told as it begins, and nothing with --quiet") {
  const Folder f;
  const std::string binary =
      std::filesystem::weakly_canonical(std::filesystem::absolute(MOONLOOP_BINARY)).string();
  const auto told_by = [&](const std::string& more) {
    return shell("script -qec \"'" + binary + "' view " +
                     (kRoot / "examples/edit/edit.loop").string() + " -t " +
                     (kRoot / "examples/edit/diagonals.lua").string() + " -o '" + (f / "e.html") +
                     "' " + more + "\" /dev/null",
                 f.str())
        .out;
  };
  const std::string out = told_by("");
  CHECK(contains(out, "state 1 of 4: as written"));
  for (const char* state : {"state 2 of 4: ", "state 3 of 4: ", "state 4 of 4: split_iname("})
    CHECK(contains(out, state));
  CHECK(told_by("--quiet").empty());
  // Elsewhere fast progress is not reported.
  CHECK(tool("view k.loop -o k.html", (f.write("k.loop", kDouble), f.str())).err.empty());
}

namespace {

std::int64_t sum_of(const Json& heat) {
  std::int64_t n = 0;
  for (const auto& [id, count] : heat.items()) {
    CHECK(count[1] == true);
    n += std::stoll(count[0].get<std::string>());
  }
  return n;
}

/// The sum of the values of the operations in `show --what stats`, and its bytes accessed.
std::pair<std::int64_t, std::int64_t> totals(const std::string& stats) {
  std::istringstream in(stats);
  std::string line;
  std::int64_t operations = 0, bytes = -1;
  while (std::getline(in, line) && line != "operations") continue;
  std::getline(in, line);
  std::istringstream head(line);
  CHECK(std::vector<std::string>(std::istream_iterator<std::string>(head), {}) ==
        std::vector<std::string>{"dtype", "name", "value", "count"});
  while (std::getline(in, line) && line.starts_with("  ")) {
    std::istringstream words(line);
    std::string dtype, name;
    std::int64_t value = 0;
    words >> dtype >> name >> value;
    operations += value;
  }
  const std::string accessed = "bytes accessed ";
  while (std::getline(in, line))
    if (line.starts_with(accessed)) bytes = std::stoll(line.substr(accessed.size()));
  return {operations, bytes};
}

}  // namespace

TEST_CASE("view: what statements do, together, is what show --what stats counts") {
  const Folder f;
  const std::string examples = (kRoot / "examples").string();
  for (const std::string input :
       {"matmul/matmul.loop -t matmul/tiled.lua -p n=64", "edit/edit.loop -p n=7 -p m=9",
        "trsv/trsv.loop -t trsv/trsv.lua -p n=21", "fortran/hydro.f90 -p n=10 -p m=12",
        "stencil/jacobi.loop -p n=9 -p steps=3"}) {
    CAPTURE(input);
    const Json state = data_of(page(input, f, "page.html"))["states"].back();
    const Outcome stats = tool("show " + input + " --what stats", examples);
    REQUIRE(stats.status == 0);
    const auto [operations, bytes] = totals(stats.out);
    CHECK(operations > 0);
    CHECK(sum_of(state["heat"]["operations"]) == operations);
    CHECK(sum_of(state["heat"]["bytes"]) == bytes);
  }
}

TEST_CASE("view: numbers of any size, and what has none") {
  const Folder f;
  const Json large =
      data_of(page("matmul/matmul.loop -p n=10000000", f, "l.html"))["states"][0]["heat"];
  CHECK(large["operations"]["insn_update"] == Json({"2000000000000000000000", true}));
  // 2 to the 32 and 2 more: no drawing of two iterations.
  f.write("copy.loop",
          "kernel copy(n: int64, a: float64[n])\ndomain {[i]: 0 <= i < n}\na[i] = 0\n");
  const Json copy = data_of(page("'" + (f / "copy.loop") + "' -p n=4294967298", f, "c.html"));
  CHECK(copy["states"][0]["space"] == Json::array());
  const Json many = data_of(page("matmul/matmul.loop", f, "m.html"))["states"][0]["space"];
  CHECK(many.back()["id"] == "insn");
  CHECK(many[1]["arrows"].size() == 300);
  CHECK(many[1]["all_arrows"] == false);
  const Json unknown = data_of(page("spmv/spmv.loop", f, "s.html"))["states"][0]["heat"];
  CHECK(contains(unknown["operations"]["error"].get<std::string>(), "which the kernel computes"));
}

TEST_CASE("view: a browser shows it, without errors, by keys and by pointing") {
  const Folder f;
  const std::string dom =
      browse(page("edit/edit.loop -t edit/diagonals.lua", f, "edit.html"), kKeys + std::string(R"(
type("ArrowLeft");
type("ArrowLeft");
type("ArrowLeft", document, {altKey: true});
document.querySelector("#tree [data-ids]").dispatchEvent(new MouseEvent("mouseenter"));
tell("marked", ["text", "tree", "code", "deps"].map(id => all("#" + id + " .marked").length > 0).join());
)"));
  if (dom.empty()) return;
  CHECK(contains(dom, "1 of 3: map_domain("));
  CHECK(told(dom, "marked") == "true,true,true,true");
  std::size_t circles = 0;
  for (std::size_t at = 0; (at = dom.find("<circle", at)) != std::string::npos; ++at) ++circles;
  CHECK(circles == 64);
}

TEST_CASE("view: heat shades statements, and says their numbers") {
  const Folder f;
  const std::string text = page("matmul/matmul.loop -t matmul/tiled.lua", f, "m.html");
  const std::string dom = browse(text, kKeys + std::string(R"(
const shown = id => all("#" + id + " [data-ids]").map(l => l.dataset.ids + "=" + l.querySelector(".count")?.textContent).join();
const pressed = () => all("#heat [aria-pressed=true]").map(b => b.textContent).join();
tell("off", pressed() + all(".hot, .count").length + $("heat-note").textContent);
all("#heat button")[1].click();
tell("operations", pressed() + ": " + shown("tree"));
tell("text", shown("text"));
tell("note", $("heat-note").textContent);
tell("tiles", document.querySelector("#space .tile").getAttribute("d").split("M").length - 1);
tell("tip", document.querySelector("#tree [data-ids=insn_update]").title);
const share = id => Number(document.querySelector(`#code [data-ids=${id}]`).style.getPropertyValue("--share"));
tell("shares", [share("insn_update") === 1, share("insn") < 1 && share("insn") > 0].join());
type("h");
tell("bytes", pressed() + ": " + shown("tree"));
type("h");
tell("again", pressed() + all(".hot, .count").length);
type("h", document, {ctrlKey: true});
tell("browsers", pressed());
)"));
  if (dom.empty()) return;
  CHECK(told(dom, "off") == "off0");
  CHECK(told(dom, "operations") ==
        "operations: insn_init=0,a_fetch_rule=4096,b_fetch_rule=4096,insn_update=65536,insn=4096");
  CHECK(told(dom, "text") == "a_fetch_rule=4096,b_fetch_rule=4096,insn=69632");
  CHECK(told(dom, "note") == "77824 operations at n = 32; before each statement stands its part");
  CHECK(told(dom, "tip") == "insn_update: 65536 of 77824 operations, 84.2 %");
  CHECK(told(dom, "shares") == "true,true");
  CHECK(told(dom, "bytes") ==
        "bytes: insn_init=0,a_fetch_rule=16384,b_fetch_rule=16384,insn_update=524288,insn=8192");
  CHECK(told(dom, "again") == "off0");
  CHECK(told(dom, "tiles") == "128");  // four sides of 32 elements
  CHECK(told(dom, "browsers") == "off");
  const std::string unknown = browse(page("spmv/spmv.loop", f, "s.html"), kKeys + std::string(R"(
tell("hot", all(".hot, .count").length + $("heat-note").textContent);
)"),
                                     "#heat=bytes");
  CHECK(told(unknown, "hot").starts_with("0bytes not counted: how often `insn_0_update` runs"));
}

TEST_CASE("view: everything is reached and used by keys") {
  const Folder f;
  const std::string dom = browse(page("fortran/hydro.f90", f, "h.html"), kKeys + std::string(R"(
const controls = all("button, input, select, .rows, pre");
tell("reached", controls.every(c => c.tabIndex === 0 && (c.disabled || (c.focus(), document.activeElement === c))));
tell("named", controls.every(c => c.textContent.trim() || c.getAttribute("aria-label")));
tell("opened", [step, target, heat].join());
const marks = () => all("#tree .marked").map(l => l.dataset.ids).join();
const tree = $("tree");
tree.focus();
const seen = [];
for (const key of ["ArrowDown", "ArrowDown", "End", "ArrowDown", "ArrowUp", "Home", "Escape"]) {
  type(key, tree);
  seen.push(marks());
}
tell("marks", seen.join(";"));
type("ArrowDown", tree);
type("ArrowLeft", tree);
tell("kept", step + marks() + all("#code .marked").length);
type("ArrowDown", tree);
tell("further", marks() + ": " + $("said").textContent);
$("steps").value = 0;
$("steps").dispatchEvent(new Event("input"));
tell("slid", step + $("title").textContent);
type("ArrowRight", $("steps"));
tell("own", step);
all("#targets button").find(b => b.textContent === "cuda").click();
tell("target", all("#targets [aria-pressed=true]").map(b => b.textContent).join());
go(3);
tell("failed", all("#targets [aria-pressed=true]").map(b => b.textContent).join() + all("#code .error").length);
)"),
                                 "#step=1&target=openmp&heat=bytes");
  if (dom.empty()) return;
  CHECK(told(dom, "reached") == "true");
  CHECK(told(dom, "named") == "true");
  CHECK(told(dom, "opened") == "1,openmp,bytes");
  CHECK(told(dom, "marks") == "insn;insn_0;insn_6;insn_6;insn_5;insn;");
  CHECK(told(dom, "kept") == "0insn1");
  CHECK(told(dom, "further") == "insn_0: insn_0 marked");
  CHECK(told(dom, "slid") == "00 of 3: as written");
  CHECK(told(dom, "own") == "0");
  CHECK(told(dom, "target") == "cuda");
  CHECK(told(dom, "failed") == "cuda1");
}
