#pragma once
#include <map>
#include <string>

namespace moonloop::test {

/// How to run each script of examples/: its kernel, then the sizes. Scripts that assume a size get
/// one that fits, others sizes that no tile divides.
inline const std::multimap<std::string, std::string> kRuns{
    {"argmin/argmin.lua", "argmin/argmin.loop -p n=1001"},
    {"batched/solve.lua", "batched/solve.loop -p n=6 -p nbatch=70"},
    {"edit/cpu.lua", "edit/edit.loop -p n=101 -p m=67"},
    {"edit/diagonals.lua", "edit/edit.loop -p n=101 -p m=67"},
    {"fortran/hydro_gpu.lua", "fortran/hydro.f90 -p n=35 -p m=20"},
    {"gpu/gemm.lua", "gpu/gemm.loop --kernel sgemm -p n=128"},
    {"gpu/gemm.lua", "gpu/gemm.loop --kernel dgemm -p n=128"},
    {"histogram/histogram.lua", "histogram/histogram.loop -p n=1003"},
    {"host/stencil.lua", "host/stencil.loop -p n=35 -p m=70 -p w=0.8"},
    {"kmeans/kmeans.lua", "kmeans/kmeans.loop -p n=1003"},
    {"matmul/blocks.lua", "matmul/matmul.loop -p n=67"},
    {"matmul/cpu.lua", "matmul/matmul.loop -p n=67"},
    {"matmul/tiled.lua", "matmul/matmul.loop -p n=64"},
    {"paper/bsquare.lua", "paper/bsquare.loop -p n=101"},
    {"paper/dgemm.lua", "paper/dgemm.loop -p n=37 -p m=41 -p l=29"},
    {"paper/double.lua", "paper/double.loop -p n=1001"},
    {"paper/fdiff.lua", "paper/fdiff.loop -p n=64"},
    {"paper/gravity.lua", "paper/gravity.loop -p np=33"},
    {"paper/subst.lua", "paper/subst.loop -p n=101"},
    {"paper/targeting.lua", "paper/targeting.loop -p n=101"},
    {"paper/wildcards.lua", "paper/targeting.loop -p n=101"},
    {"scan/scan.lua", "scan/scan.loop -p n=101"},
    {"scan/by_items.lua", "scan/scan.loop -p n=333"},
    {"scan/segments.lua", "scan/segments.loop -p n=5003"},
    {"sum/two_stages.lua", "sum/sum.loop -p n=12345"},
    {"softmax/softmax.lua", "softmax/softmax.loop -p rows=5 -p n=1300"},
    {"spmv/cpu.lua", "spmv/spmv.loop -p nrows=100 -p nnz=500 -p ncols=100"},
    {"spmv/spmv.lua", "spmv/spmv.loop -p nrows=100 -p nnz=500 -p ncols=100"},
    {"stencil/jacobi.lua", "stencil/jacobi.loop -p n=35 -p steps=4"},
    {"trsv/trsv.lua", "trsv/trsv.loop -p n=77"},
};

}  // namespace moonloop::test
