#ifndef MOONLOOP_FILL_H
#define MOONLOOP_FILL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define MOONLOOP_RESTRICT __restrict
#else
#define MOONLOOP_RESTRICT restrict
#endif

void fill(int32_t n, double *MOONLOOP_RESTRICT a);

#ifdef __cplusplus
}
#endif
#undef MOONLOOP_RESTRICT

#endif
