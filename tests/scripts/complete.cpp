#include "scripts/complete.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/model/iname_tag.h"
#include "scripts/session.h"
#include "tests/scripts/harness.h"

namespace moonloop::test {
namespace {

constexpr const char* kSmooth = R"(
kernel smooth(n: int32, scale: float64, u: float64[n + 2], v: float64[n])
domain {[i]: 0 <= i < n}
avg(j) := (u[j] + u[j + 1])/2
<> t = avg(i)   {id=first, tags=input}
v[i] = scale*t  {id=second}
)";

Vocabulary vocabulary() {
  static const std::vector<Kernel> kernels = parse(kSmooth);
  static Session session(kernels, kernels, {});
  Vocabulary v = session.vocabulary();
  v.commands = {{":code", Takes::Target},  {":deps", Takes::Ids},     {":diff", Takes::Nothing},
                {":help", Takes::Topic},   {":open", Takes::File},    {":run", Takes::Parameters},
                {":set", Takes::Settings}, {":switch", Takes::Point}, {":time", Takes::OnOff}};
  v.topics = {"g.N", "domain"};
  v.targets = {"c", "cuda", "opencl", "openmp"};
  v.settings = {"target", "device"};
  return v;
}

using Words = std::vector<std::string>;

/// Candidates at the end of `text`.
Words at(const std::string& text) { return complete(text, text.size(), vocabulary()).words; }

bool offers(const std::string& text, const std::string& word) {
  const Words all = at(text);
  return std::find(all.begin(), all.end(), word) != all.end();
}

}  // namespace

TEST_CASE("complete: commands and what they take") {
  CHECK(at(":d") == Words{":deps", ":diff"});
  CHECK(at(":code o") == Words{"opencl", "openmp"});
  CHECK(at(":deps s") == Words{"second"});
  CHECK(at(":deps first s") == Words{"second"});
  CHECK(at(":switch ") == Words{"main", "smooth"});
  CHECK(at(":run n=4 s") == Words{"scale="});
  CHECK(at(":set t") == Words{"target="});
  CHECK(at(":set target=open") == Words{"opencl", "openmp"});
  CHECK(at(":time o") == Words{"off", "on"});
  CHECK(offers(":help spl", "split_iname"));
  CHECK(offers(":help g", "g.N"));
  CHECK(at(":diff ").empty());
  CHECK(at(":nothing x").empty());
}

TEST_CASE("complete: names") {
  CHECK(at("smo") == Words{"smooth"});
  CHECK(offers("x = smo", "smooth"));
  CHECK(offers("pri", "print"));
  CHECK(offers("split_", "split_iname"));
  CHECK(at("lp.split_i") == Words{"split_iname"});
  CHECK(offers("lp.ma", "make_kernel"));
  CHECK(at("smooth:split_i") == Words{"split_iname"});
  CHECK(at("smooth.inam") == Words{"iname_tags", "inames"});
  CHECK(offers("smooth:split_iname('i', 4):ta", "tag_inames"));
  CHECK(at("string.gs") == Words{"gsub"});
  CHECK(at("x = 12").empty());
  CHECK(at("-- smo").empty());
  CHECK(!offers("'a' .. smo", "split_iname"));
  CHECK(offers("'a' .. smo", "smooth"));
}

TEST_CASE("complete: names of options") {
  CHECK(at("smooth:split_iname(\"i\", 4, {inner_") ==
        Words{"inner_iname = ", "inner_length = ", "inner_tag = "});
  CHECK(at("lp.split_iname(smooth, \"i\", 4, {outer_tag = \"g.0\", sl") == Words{"slabs = "});
  CHECK(at("split_iname(\"i\", 4, {do_") == Words{"do_tagged_check = "});
  CHECK(offers("tag_inames{i", "i = "));
  CHECK(offers("smooth:fix_parameters{", "n = "));
}

TEST_CASE("complete: words in strings, as the parameter is") {
  CHECK(at("smooth:split_iname(\"") == Words{"i"});
  CHECK(at("lp.split_iname(smooth, \"") == Words{"i"});
  CHECK(at("split_iname('i', 4, {outer_tag = \"g.") == Words{"g.0", "g.1", "g.2"});
  CHECK(at("tag_inames{i = \"un") == Words{"unr", "unr_hint"});
  CHECK(at("tag_inames(\"i:l.a") == Words{"l.auto"});
  CHECK(at("tag_inames\"i:pa") == Words{"par"});
  CHECK(at("precompute(\"") == Words{"avg"});
  CHECK(at("add_prefetch(\"") == Words{"n", "scale", "t", "u", "v"});
  CHECK(at("split_iname('i', 4, {within = \"id:") == Words{"first", "second"});
  CHECK(at("split_iname('i', 4, {within = \"tag:") == Words{"input"});
  CHECK(offers("split_iname('i', 4, {within = \"re", "reads:"));
  CHECK(at("set_temporary_address_space('t', 'l") == Words{"local"});
  const Completion c = complete("x = smooth:split_iname(\"i\", 4)", 5, vocabulary());
  CHECK(c.from == 4);
  CHECK(c.words.size() >= 1);
}

TEST_CASE("complete: files") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("complete-{}", ::getpid());
  fs::create_directories(folder / "sub");
  std::ofstream(folder / "one.lua") << "\n";
  std::ofstream(folder / "other.loop") << "\n";
  std::ofstream(folder / ".hidden") << "\n";
  const std::string in = folder.string() + "/";
  CHECK(at(":open " + in) == Words{in + "one.lua", in + "other.loop", in + "sub/"});
  CHECK(at(":open " + in + "on") == Words{in + "one.lua"});
  CHECK(at("dofile(\"" + in + "ot") == Words{in + "other.loop"});
  CHECK(at(":open " + in + "sub/x").empty());
  CHECK(at(":open /no/such/folder/x").empty());
  fs::remove_all(folder);
}

TEST_CASE("complete: every tag it offers is one") {
  for (const std::string& tag : common_tags()) {
    CAPTURE(tag);
    CHECK((tag == "for" || parse_iname_tag(tag)));
  }
}

TEST_CASE("complete: text that is not Lua does no harm") {
  const std::string all = "f({[\"a\\\"b' --x\n=,:.)}] lp.:: {{ smooth: 'i";
  for (std::size_t n = 0; n <= all.size(); ++n)
    for (std::size_t from = 0; from <= n; ++from) {
      const std::string text = all.substr(from, n - from);
      const Completion c = complete(text, text.size(), vocabulary());
      CHECK(c.from <= text.size());
    }
}

}  // namespace moonloop::test
