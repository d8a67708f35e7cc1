#include <stdint.h>

static inline int32_t min_i32(int32_t a, int32_t b) {
  return b < a ? b : a;
}

void pieces(int32_t n, int32_t const *restrict a, double *restrict c) {
  for (int32_t o = 0; o < min_i32(3, n); ++o)
    for (int32_t p = 0; p < (n - o + 2) / 3; ++p)
      c[o*(n / 3) + min_i32(o, n % 3) + p] = 1.0;
}
