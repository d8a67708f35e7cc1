#pragma once
#include "codegen/print/fortran_names.h"

/// Variables that only Fortran can have, of which a kernel gets the address.
namespace moonloop::fortran_side {

/// The declarations of what the caller passes or gets, and of the box in which the routine has it.
std::string boxes(const Called& p);
/// The subroutines beside the routine that say where the caller's records are.
std::string places_of_records(const Called& p);
/// Into the boxes before the call, and out of them after it.
std::string fill_boxes(const Called& p);
std::string empty_boxes(const Called& p);

}  // namespace moonloop::fortran_side
