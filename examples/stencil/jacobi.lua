-- Rows in parallel within each time step.
jacobi = lp.tag_inames(jacobi, "i:par, ii:par")
