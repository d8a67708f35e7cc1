#include <complex.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Lines of the cache; not by aligned_alloc, which seldom reuses what has been freed. */
static void *allocate(size_t bytes) {
  if (bytes > (size_t)-1 / 2) bytes = 0; /* an extent below 0: no element is used */
  char *memory = (char *)malloc(bytes + 192);
  if (!memory) {
    fprintf(stderr, "no memory for a temporary of %zu bytes\n", bytes);
    abort();
  }
  char *aligned = memory + 128 - (uintptr_t)memory % 64;
  ((void **)aligned)[-1] = memory;
  return aligned;
}

void dcopy_(int32_t *, double *, int32_t *, double *, int32_t *);

double ddot_(int32_t *, double *, int32_t *, double *, int32_t *);

static void release(void *memory) {
  free(((void **)memory)[-1]);
}

void ztake_(double *, float complex *);

void solve(int32_t n, int32_t m, double const *restrict x, double *restrict y,
           float complex *restrict z, double *restrict s) {
  double *t = allocate(sizeof(double)*n);
  {
    int32_t argument = n;
    int32_t argument_0 = 1;
    int32_t argument_1 = 1;
    dcopy_(&argument, (double *)&x[0], &argument_0, &t[0], &argument_1);
  }
  for (int32_t j = 0; j < m; ++j) {
    {
      int32_t argument_2 = n;
      int32_t argument_3 = 1;
      int32_t argument_4 = 1;
      s[0] = ddot_(&argument_2, (double *)&t[0], &argument_3, (double *)&y[(int64_t)n*j],
          &argument_4);
    }
    for (int32_t i = 0; i < n; ++i)
      y[(int64_t)n*j + i] = s[0]*t[i];
    {
      ztake_(&y[(int64_t)n*j + 1], &z[0]);
    }
  }
  release(t);
}
