      SUBROUTINE SMOOTH(N, M, U, K)
      IMPLICIT REAL*8 (A-H, O-Z)
      DIMENSION U(N, M), K(N, M)
      F(X, Y) = 0.5D0*(X + Y)
      NEAR(X) = 3.5D0*X + N
      G(X, I) = F(X, U(I, 1))**2 + NEAR(X)
      DO 10 J = 2, M
      DO 10 I = 2, N
         X = U(I, J)
         U(I, J) = F(U(I - 1, J), X) + F(X, U(I, J - 1)) + G(X + 1, I)
   10 K(I, J) = NEAR(U(I, J)) + K(I, J)
      END
