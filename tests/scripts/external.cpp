// Allowed steps of scripts around calls of external functions.
#include "harness.h"

using namespace moonloop;
using namespace moonloop::test;

TEST_CASE("external calls: any element may be read, and changed on the left") {
  const std::string head =
      "kernel k(n: int32, a: inout float64[n], b: inout float64[n])\n"
      "domain {[i]: 0 <= i < n}\nexternal f\ntemp outside: int32\n";
  const auto why = [&](const std::string& statements, const std::string& lua) {
    const Diagnostic d = failure(head + statements, lua);
    return d.code + ": " + d.text;
  };
  const std::string reads =
      "for i\n  a[i] = 2         {id=put}\n"
      "  b = f(address(b), address(a[i]))  {id=call}\nend\n";
  CHECK(why(reads, "k = lp.tag_inames(k, {i = \"par\"})") ==
        "not-proved: tagging `i` as `par` would run put[i=0] and call[i=1] at the same time, but "
        "put[i=0] may write a[0] and call[i=1] may read it (n=2)");
  CHECK(why("b[i] = 1  {id=put}\nb, outside = f(address(b))  {id=call, dep=put}\n",
            "k = lp.tag_inames(k, {i = \"par\"})\n"
            "k = lp.add_dependency(k, \"id:put\", \"id:call\")")
            .find("dependency-cycle") == 0);
  // A variable that a call changes elsewhere is one, whatever loops are around.
  CHECK(why("outside = f(i)  {id=call}\n", "k = lp.tag_inames(k, {i = \"par\"})") ==
        "races: tagging `i` as `par` would run call[i=0] and call[i=1] at the same time, but "
        "call[i=0] writes outside and call[i=1] writes it too (n=2)");
  transform(head + "a[i] = 2  {id=put}\nb, outside = f(address(b))  {id=call}\n",
            "k = lp.tag_inames(k, {i = \"par\"})");
}

TEST_CASE("external calls: what is passed stays where it is") {
  const std::string text =
      "kernel k(n: int32, a: inout float64[n])\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < "
      "n}\n"
      "external f\ntemp t: float64[n]\nt[i] = a[i]  {id=fill}\nt = f(address(t), address(a))  "
      "{id=call}\n"
      "a[j] = t[j]  {id=use}\n";
  for (const char* lua :
       {"k = lp.add_padding(k, \"a\", 0, 8)", "k = lp.tag_array_axes(k, \"a\", \"F\")",
        "k = lp.split_array_axis(k, \"a\", 0, 4)",
        "k = lp.privatize_temporaries_with_inames(k, \"i\", \"t\")",
        "k = lp.assignment_to_subst(k, \"t\")"}) {
    CAPTURE(lua);
    CHECK(failure(text, lua).code == "passed-array");
  }
  CHECK(failure(text, "k = lp.buffer_array(k, \"a\", \"i\")").text ==
        "`f` gets the address of `a`, whose elements have to stay where they are");
}
