#pragma once
#include <string>

namespace moonloop {

/// reports/view.html, which is part of the binary.
std::string view_template();
/// The same of reports/tune.html.
std::string tune_template();

}  // namespace moonloop
