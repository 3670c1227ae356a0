"""Runs matrix products on one thread."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

one_blas_thread = threadpool_limits.wrap(limits=1, user_api="blas")
"""Decorator for functions whose products are thin: BLAS threads wait busily for each other, which takes ten
times as long when other programs use the cores."""
