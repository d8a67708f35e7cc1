#pragma once
#include <functional>
#include <string>

#include "tests/differential/random.h"

namespace moonloop::differential {

/// Whether the tag of an atomic statement, as random_atomic() writes it, is that of updates which
/// commute with those of the same tag.
bool commuting_tag(const std::string& tag);

/// The parts of the statement, each a new one at each call.
struct AtomicParts {
  std::string type;                                       // of the elements
  bool integers, half;                                    // half: float16
  bool mixed;                                             // types differ, and some may have no sign
  int operation;                                          // 0 or more: the one of all that commute
  std::string iname;                                      // one that runs from 0
  std::function<std::string()> term;                      // reads neither `h` nor `d`
  std::function<std::string()> subscript;                 // within 3*n + 12
  std::function<std::string(const std::string&)> addend;  // a term, in a form that may be added up
};

/// An atomic statement on `h`, an array of the kernel's type with 3*n + 12 elements, which may also
/// read `d`, an int32 array of that length that nothing writes. The tag in its options gives the
/// kind of update, for checks by enumeration.
std::string random_atomic(Random& random, const AtomicParts& parts, const std::string& options);

}  // namespace moonloop::differential
