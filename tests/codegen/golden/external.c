#include <stddef.h>
#include <stdint.h>

void xerbla_(char const *, int32_t *, int32_t *, float *, size_t);

void report(int32_t n, double *restrict x) {
  int32_t info = 0;
  if (n < 10)
    info = 3;
  if (info > 0) {
    int32_t argument = 2*n;
    float argument_0 = 1.5f;
    xerbla_("RE\"PORT", &info, &argument, &argument_0, 7);
  }
  if (info == 0)
    for (int32_t i = 0; i < n; ++i)
      x[i] = 1.0;
}
