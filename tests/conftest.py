"""Settings of the whole suite: float64, eight virtual CPU devices, GPU tests only where there is a GPU.

The environment is set before anything imports jax. A test of float32 passes float32 arrays, or runs under
`jax.enable_x64(False)`.

Nearly all the suite's time is XLA's, compiling code that runs for milliseconds, so XLA is asked for little: a third of
the time. `JAX_DISABLE_MOST_OPTIMIZATIONS=0 python -m pytest ...` tests the code that users get. One pass is left out
(it moves reshapes that another moves back, 25 times over, for a quarter of what is left), and Python's collector of
cycles looks less often, since tracing leaves few. Kernels are compiled in one piece, and operations do not carry the
lines of Python that they come from: a tenth.

Where the environment says `NO_TESTS_AFTER`, in seconds since 1970, what has not begun by then is skipped: some machines
take three times as long as others.
"""

import gc
import math
import os
import time

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["MPLBACKEND"] = "Agg"
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # training would fill the user's
    os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"
if os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1") == "1":
    less = "--xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters --xla_disable_hlo_passes=reshape-mover"
    less += " --xla_cpu_parallel_codegen_split_count=1"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {less}"
    os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")

import jax
import pytest

gc.set_threshold(50_000, 20, 20)
jax.config.update("jax_num_cpu_devices", 8)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if any(item.get_closest_marker("gpu") for item in items) and jax.default_backend() != "gpu":
        skip = pytest.mark.skip(reason="jax finds no GPU")
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(skip)


def pytest_runtest_setup() -> None:
    if time.time() > float(os.environ.get("NO_TESTS_AFTER", math.inf)):
        pytest.skip("the time for tests is over")


@pytest.fixture(autouse=True, scope="module")
def _forget_compiled_functions():
    """Compiled code of one module is of no use to the next and would fill the memory of a long run."""
    yield
    jax.clear_caches()
