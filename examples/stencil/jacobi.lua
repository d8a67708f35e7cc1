-- Rows in parallel within each time step: teams on a CPU, groups on a GPU.
jacobi = lp.tag_inames(jacobi, "i:g.0, ii:g.0")
