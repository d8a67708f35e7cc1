#pragma once
#include <string>

#include "codegen/codegen.h"
#include "codegen/reserved.h"

namespace moonloop {

/// How a language of the C family spells common constructs.
enum class Language { C, OpenCL, Cuda, Ispc };

/// The features and needs of a target.
struct TargetFeatures {
  bool device = false;                  // work-items, launched from the host
  bool threads = false;                 // iterations of `par` loops run in threads
  bool gangs = false;                   // iterations run in a gang's lanes, launched as tasks
  bool shuffles = false;                // work-items of a warp exchange register values
  bool matrix_units = false;            // `mma`
  bool copies_ahead = false;            // copies to local memory for which nobody waits at once
  bool waits_under_conditions = false;  // of groups: all of a group wait, others need not
  bool host_function = true;  // the host calls a function of C's; else its API launches kernels
  bool c_linkage = false;     // its text declares that function as one of C itself
};
const TargetFeatures& features_of(Target t);

Language language_of(Target t);
/// `OpenCL C`, for messages.
std::string language_name(Language language);
Surroundings surroundings_of(Language language);
bool is_device(Target t);  // work-items, launched from the host
/// Whether generated code includes headers of C's library.
bool has_headers(Language language);

/// `double`, `int32_t` (`int` on devices), `double complex`, `bool`, or the name of a record.
/// In ISPC without a word for how many values a variable has, `uniform` or `varying`.
std::string type_name(Language language, const Type& t);
std::string field_name(Language language, const std::string& name);
/// `text` as a string literal of C.
std::string c_string(const std::string& text);
/// The type of an element in memory that the host sees: bools are bytes there.
std::string element_type(Language language, const Type& t);
/// A function of C's mathematical library for one type: `sinf`, `sin`, `csin`; OpenCL has one name.
std::string math_function(Language language, const std::string& name, Scalar s);
/// A complex number of a device's language, which has pairs.
std::string complex_pair(Language language, Scalar s, const std::string& re, const std::string& im);
/// The work-item's number in its group, or the group's number, along an axis.
std::string hardware_id(Language language, bool group, int axis);
/// The prefix of a table of constants, and of a function that other functions call.
std::string table_prefix(Language language);
std::string function_prefix(Language language);

}  // namespace moonloop
