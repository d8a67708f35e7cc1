#include <nlohmann/json.hpp>

#include "runtime/process.h"
#include "tests/cli/harness.h"

/// The page of `moonloop view`: what is in it, and that a browser shows it.

using namespace moonloop::test;  // NOLINT
using Json = nlohmann::json;

namespace {

std::string page(const std::string& arguments, const Folder& f, const std::string& name) {
  const Outcome o =
      tool("view " + arguments + " -o " + (f.str() + "/" + name), (kRoot / "examples").string());
  REQUIRE_MESSAGE(o.status == 0, o.err);
  return f.read(name);
}

Json data_of(const std::string& page) {
  const std::string begin = "const data = ";
  const std::size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find(";\n", from) - from));
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
  using Places = std::vector<std::pair<int, int>>;
  CHECK(drawn(0) == Places{{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}, {2, 3}});  // row by row
  CHECK(drawn(3) == Places{{1, 1}, {1, 2}, {2, 1}, {1, 3}, {2, 2}, {2, 3}});  // by diagonals
  for (const Json& state : data["states"]) {
    const Json& s = state["space"][0];
    CHECK(s["arrows"].size() == 9);  // to the right 4, down 3, along the diagonal 2
    for (const Json& a : s["arrows"])
      CHECK(s["points"][a[0].get<std::size_t>()][1] < s["points"][a[1].get<std::size_t>()][1]);
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

TEST_CASE("view: a browser shows it, without errors, by keys and by pointing") {
  const std::string browser = moonloop::find_program("chromium");
  if (browser.empty()) {
    MESSAGE("no chromium: the page is not looked at");
    return;
  }
  const Folder f;
  std::string text = page("edit/edit.loop -t edit/diagonals.lua", f, "edit.html");
  text += R"(<script>
document.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft"}));
document.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft"}));
document.querySelector("#tree [data-ids]").dispatchEvent(new MouseEvent("mouseenter"));
document.body.dataset.marked = ["text", "tree", "code", "deps"].map(
    id => document.querySelectorAll("#" + id + " .marked").length > 0).join();
</script>)";
  f.write("edit.html", text);
  const Outcome o = shell(
      "timeout 60 " + browser +
          " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --enable-logging=stderr "
          "--user-data-dir=profile --dump-dom file://$PWD/edit.html",
      f.str());
  CHECK(o.status == 0);
  CHECK(o.err.find("CONSOLE") == std::string::npos);
  CHECK(o.out.find("1 of 3: map_domain(") != std::string::npos);
  CHECK(o.out.find("data-marked=\"true,true,true,true\"") != std::string::npos);
  std::size_t circles = 0;
  for (std::size_t at = 0; (at = o.out.find("<circle", at)) != std::string::npos; ++at) ++circles;
  CHECK(circles == 64);
}
