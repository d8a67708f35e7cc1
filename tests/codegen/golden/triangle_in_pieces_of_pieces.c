#include <stdint.h>

static inline int32_t min_i32(int32_t a, int32_t b) {
  return b < a ? b : a;
}

void lower(int32_t n, double const *restrict a, double *restrict c) {
  #pragma omp parallel for schedule(dynamic)
  for (int32_t i_outer = 0; i_outer < min_i32(16, n); ++i_outer)
    for (int32_t i_inner_outer = 0; i_inner_outer < min_i32(3, (n + 15) / 16); ++i_inner_outer)
      for (int32_t i_inner_inner = 0; i_inner_inner < (n - 16*i_inner_outer + 47) / 48;
          ++i_inner_inner)
        if (16*(i_inner_outer*((n + 15) / 16 / 3) + min_i32(i_inner_outer, (n + 15) / 16 % 3)
            + i_inner_inner) + i_outer < n)
          for (int32_t j = 0; j <= i_outer*(n / 16) + min_i32(i_outer, n % 16)
              + i_inner_outer*((n + 15) / 16 / 3) + min_i32(i_inner_outer, (n + 15) / 16 % 3)
              + i_inner_inner; ++j) {
            c[i_outer*(n / 16) + min_i32(i_outer, n % 16) + i_inner_outer*((n + 15) / 16 / 3)
                + min_i32(i_inner_outer, (n + 15) / 16 % 3) + i_inner_inner] +=
                2*a[(int64_t)n*(i_outer*(n / 16) + min_i32(i_outer, n % 16)
                + i_inner_outer*((n + 15) / 16 / 3) + min_i32(i_inner_outer, (n + 15) / 16 % 3)
                + i_inner_inner) + j];
          }
}
