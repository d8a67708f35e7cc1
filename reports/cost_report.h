#pragma once
#include <string>

#include "codegen/codegen.h"
#include "cost/predict.h"

/// Predicted times, for people and for programs.
namespace moonloop {

/// What was predicted, and of what.
struct CostReport {
  std::string kernel;
  Target target = Target::C;
  Integers params;
  cost::Prediction prediction;
};

/// A line with the time and what bounds it, a table of all bounds, the profile, and remarks.
std::string cost_text(const CostReport& r);
/// The same as one object.
std::string cost_json(const CostReport& r);

/// `1.50 ms`; three digits.
std::string seconds_text(double seconds);

}  // namespace moonloop
