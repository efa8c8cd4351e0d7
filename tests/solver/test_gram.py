"""Constraint Jacobians: what they add to the Hessian, for every platform's program."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.math.stage import lowering_for
from jaxsim.solver import gram
from jaxsim.solver.blocks import block_size
from jaxsim.solver.contact_jacobian import ContactJacobian
from jaxsim.solver.gram import Factors, gram_of
from jaxsim.solver.gram_kernel import gram_in_kernel
from jaxsim.solver.jacobian import DenseJacobian
from jaxsim.structure.sparsity import tree_structure

BRANCHES = tree_structure([-1, 0, 1, 0, 3])


@pytest.fixture(autouse=True)
def _interpreted(monkeypatch):
    """The kernel of GPUs runs on the machine that tests."""
    monkeypatch.setattr(gram, "gram_in_kernel", functools.partial(gram_in_kernel, interpret=True))


def of_branches(rng, rows, width):
    """Rows (rows, nv, W), each of which moves the dofs of one branch, as those of a floor's contacts do."""
    J = rng.standard_normal((rows, BRANCHES.n, width))
    J[::2, 1:3] = 0
    J[1::2, 3:] = 0
    return J


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
@pytest.mark.parametrize("rows", [3, 45])
def test_gram_of_scalar_rows(platform, rows):
    rng = np.random.default_rng(rows)
    J, c = of_branches(rng, rows, 4), rng.uniform(0, 2, (rows, 4))
    with lowering_for(platform):
        entries = DenseJacobian(J=jnp.asarray(J)).gram(BRANCHES, jnp.asarray(c))
    expected = np.einsum("kiw,kw,kjw->ijw", J, c, J)[BRANCHES.rows, BRANCHES.cols]
    np.testing.assert_allclose(entries, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize("contacts", [2, 15])
def test_gram_of_contacts(platform, contacts):
    rng = np.random.default_rng(contacts)
    J = of_branches(rng, 3 * contacts, 4).reshape(contacts, 3, BRANCHES.n, 4)
    J[1::2] = J[0]  # one branch a contact
    c = rng.uniform(0, 2, (3, contacts, 4))
    curvature = tuple(tuple(jnp.asarray(c[i]) if i == j else None for j in range(3)) for i in range(3))
    with lowering_for(platform):
        entries = ContactJacobian(J=jnp.asarray(J)).gram(BRANCHES, curvature)
    expected = np.einsum("ndiw,dnw,ndjw->ijw", J, c, J)[BRANCHES.rows, BRANCHES.cols]
    np.testing.assert_allclose(entries, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("width", [5, 32, 40])
def test_many_rows_of_all_kinds_are_one_kernel_of_a_gpu(width, monkeypatch):
    """Of J that worlds share or not, and of a number of dofs that squares do not divide; widths are whole programs, and
    are not."""
    calls = []
    kernel = gram.gram_in_kernel
    monkeypatch.setattr(gram, "gram_in_kernel", lambda pairs: calls.append(pairs) or kernel(pairs))
    rng = np.random.default_rng(width)
    factors, expected = [], 0
    for contacts, dim, own in ((14, 3, width), (3, 1, 1), (1, 4, width), (40, 1, width)):
        J = rng.standard_normal((contacts, dim, BRANCHES.n, own))
        C = rng.standard_normal((dim, dim, contacts, width))
        if dim > 1:
            C[0, dim - 1] = 0
        C = C + np.swapaxes(C, 0, 1)
        C[:, :, contacts // 2 :, 1::2] = 0  # do not touch
        C[:, :, 20:] = 0
        product = np.einsum("ndiw,denw,nejw->ijw", np.broadcast_to(J, (*J.shape[:-1], width)), C, J)
        expected = expected + product[BRANCHES.rows, BRANCHES.cols]
        C = [[jnp.asarray(c) if c.any() else None for c in row] for row in C]
        factors.append(Factors(jnp.asarray(J), C))
    with lowering_for("cuda"):
        entries = gram_of(factors, BRANCHES)
    assert len(calls) == 1
    np.testing.assert_allclose(entries, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 3, 6])
@pytest.mark.parametrize("most", [0, 1, 8, 9, 24])
def test_contacts_in_use_alone_are_looked_at(dim, most):
    """Those after them have entries that are not numbers, which nothing may read but what is in their block."""
    rng = np.random.default_rng(most)
    used = np.array([0, most // 2, most, 0])
    J = of_branches(rng, 24 * dim, 4).reshape(24, dim, BRANCHES.n, 4)
    J[-(-most // block_size(dim)) * block_size(dim) :] = np.nan
    f = rng.standard_normal((24, dim, 4))
    C = rng.uniform(0, 2, (dim, dim, 24, 4))
    C = C + np.swapaxes(C, 0, 1)
    out_of_use = np.arange(24)[:, None] >= used
    f[np.broadcast_to(out_of_use[:, None], f.shape)], C[:, :, out_of_use] = 0, 0
    x = rng.standard_normal((BRANCHES.n, 4))
    counted = ContactJacobian(J=jnp.asarray(J), used=jnp.asarray(used))
    with lowering_for("cpu"):
        product = counted.product(jnp.asarray(x))
        force = counted.transpose(jnp.asarray(f))
        gram = counted.gram(BRANCHES, [[jnp.asarray(c) for c in row] for row in C])
    J = np.nan_to_num(J)
    expected = np.einsum("ndiw,iw->ndw", J, x)
    np.testing.assert_allclose(
        np.where(out_of_use[:, None], 0, product),
        np.where(out_of_use[:, None], 0, expected),
        rtol=0,
        atol=1e-12,
    )
    np.testing.assert_allclose(force, np.einsum("ndiw,ndw->iw", J, f), rtol=0, atol=1e-12)
    expected = np.einsum("ndiw,denw,nejw->ijw", J, C, J)[BRANCHES.rows, BRANCHES.cols]
    np.testing.assert_allclose(gram, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("wide", ["J", "other", "nothing"])
def test_contacts_in_use_of_arrays_that_worlds_share(wide):
    """Worlds may share what moves contacts, as those that start in one state do, or what it is multiplied with."""
    rng = np.random.default_rng(0)
    of_J, of_other = (4 if wide == name else 1 for name in ("J", "other"))
    J = jnp.asarray(of_branches(rng, 24 * 3, of_J).reshape(24, 3, BRANCHES.n, of_J))
    x, f = (jnp.asarray(rng.standard_normal((*s, of_other))) for s in ((BRANCHES.n,), (24, 3)))
    C = [[jnp.asarray(rng.uniform(0, 2, (24, of_other))) for _ in range(3)]] * 3
    whole = DenseJacobian(J=jnp.asarray(rng.standard_normal((5, BRANCHES.n, 1)))).factors(jnp.ones((5, 1)))
    found = []
    for used in (None, jnp.full(1, 24)):
        own = ContactJacobian(J=J, used=used)
        with lowering_for("cpu"):
            grams = [gram_of(factors, BRANCHES) for factors in ([own.factors(C)], [whole, own.factors(C)])]
            found.append([own.product(x), own.transpose(f), *grams])
    for counted, expected in zip(found[1], found[0], strict=True):
        assert counted.shape == expected.shape
        np.testing.assert_allclose(counted, expected, rtol=0, atol=1e-11)
