#pragma once

namespace moonloop {

/// What functions that CUDA code gives to callers with arrays of the host need so that these arrays
/// stay on the device between calls: a table of arrays and of where their values are. An array that
/// has pages of its own (`malloc` gives large ones some, and so does Fortran's `allocate`) keeps a
/// copy there. While that is the newer one, the pages of the host are closed to the program; who
/// touches them waits until the values are back. A static one keeps the pages there that no other
/// variable shares; the less than two pages around these, and other arrays, are copied to the
/// device and back by each call. For Linux and glibc.
///
///     int enter(void const *host, size_t bytes, bool writes, void **there)
///     int leave(void *host, size_t bytes, bool writes, void *there)
///
/// stand around a launch, in the namespace `moonloop_resident`, and `lend` and `give_back` around
/// one that needs memory for itself: 0, or CUDA's error. Programs may call `moonloop_update_` (in
/// Fortran `call moonloop_update()`), which gives all arrays back to the host, as is needed before
/// the kernel of the system is to read or write one, `moonloop_update_array_` for one of them, and
/// `moonloop_resident_` to name one that stays where others do not. With the variable
/// MOONLOOP_RESIDENT=report the program says at its end what was copied.
extern const char kCudaResidency[];

/// For functions whose arrays may stay on the device because code of the host says so, in any file
/// of the program: that file has kCudaResidency.
///
///     int moonloop_copy_to_device(void const *host, size_t bytes, int writes, void **there,
///                                 int *stays)
///     int moonloop_copy_to_host(void *host, size_t bytes, int writes, void *there, int stays)
///
/// stand around a launch; the caller frees what does not stay.
extern const char kCudaResidentElsewhere[];

}  // namespace moonloop
