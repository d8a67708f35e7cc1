#pragma OPENCL EXTENSION cl_khr_fp64 : enable

__kernel __attribute__((reqd_work_group_size(18, 1, 1)))
void smooth(int const n, __global double const *restrict u, __global double *v) {
  int const i = get_local_id(0);
  int const o = get_group_id(0);
  int const p = get_local_id(0);
  __local double s[18];
  if (16*o + 16 < n)
    s[p] = u[p + 16*o];
  else if (n + 1 >= p + 16*o)
    s[p] = u[p + 16*o];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (16*o + 16 < n) {
    if (i < 16)
      v[i + 16*o] = s[i] + s[i + 1] + s[i + 2];
  } else if (i + 16*o < n) {
    v[i + 16*o] = s[i] + s[i + 1] + s[i + 2];
  }
}
