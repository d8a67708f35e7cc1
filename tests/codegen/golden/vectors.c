#include <stdint.h>

/* Bytes of the registers for vectors. */
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#if defined(__GNUC__)
typedef double vector_f64 __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
#else
typedef double vector_f64;
#endif
enum { lanes_f64 = sizeof(vector_f64)/sizeof(double) };

void f(int32_t n, double s, double const *restrict x, double const *restrict v,
       double *restrict y) {
  double acc_k[24];
  if (n >= 1)
    for (int32_t j = 0; j < 24; j += lanes_f64)
      *(vector_f64 *)&acc_k[j] = (vector_f64){0};
  for (int32_t k = 0; k < n; ++k)
    for (int32_t j = 0; j < 24; j += lanes_f64)
      *(vector_f64 *)&acc_k[j] += *(vector_f64 const *)&x[24*(int64_t)k + j];
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < 24; j += lanes_f64) {
      (*(vector_f64 *)&y[24*(int64_t)i + j]) = (*(vector_f64 *)&y[24*(int64_t)i + j])
          - s*(*(vector_f64 const *)&x[24*(int64_t)i + j]) / (*(vector_f64 const *)&v[j]) + 2;
    }
    for (int32_t j = 0; j < 24; j += lanes_f64)
      *(vector_f64 *)&y[24*(int64_t)i + j] = *(vector_f64 const *)&acc_k[j];
    for (int32_t j = 0; j < 24; j += lanes_f64)
      *(vector_f64 *)&y[24*(int64_t)i + j] = s*i - (vector_f64){0};
  }
}
