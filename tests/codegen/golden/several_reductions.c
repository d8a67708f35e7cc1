#include <math.h>
#include <stdint.h>

static inline float greater_f32(float a, float b) {
  return b > a ? b : a;
}

void several(int32_t n, float const *restrict a, float *restrict r) {
  for (int32_t i = 0; i < n; ++i) {
    float acc_j = 0.0f;
    for (int32_t j = 0; j < n; ++j)
      acc_j += a[(int64_t)n*i + j];
    float acc_k = -INFINITY;
    for (int32_t k = 0; k < n; ++k) {
      float acc_l = 0.0f;
      for (int32_t l = 0; l < n; ++l)
        acc_l += a[(int64_t)n*k + l];
      acc_k = greater_f32(acc_k, a[(int64_t)n*k + i]*acc_l);
    }
    r[i] = 2*acc_j - acc_k;
  }
}
