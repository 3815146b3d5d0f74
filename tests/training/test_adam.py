"""Adam without torch's compiler stack."""

from __future__ import annotations

import subprocess
import sys

import torch

from train.runs.adam import Adam


def gradients(parameters, seed):
    """Give the parameters random gradients."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in parameters:
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def weights():
    """Return the same parameters each time."""
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in ((5, 3), (5,), (2, 5))]


def test_it_learns_as_torchs_adam_does_and_goes_on_from_its_state():
    ours, theirs, resumed = weights(), weights(), weights()
    mine, torchs = Adam(ours, lr=0.01, eps=1e-5), torch.optim.Adam(theirs, lr=0.01, eps=1e-5)
    for seed in range(40):
        for group in (*mine.param_groups, *torchs.param_groups):
            group["lr"] = 0.01 / (1 + seed)
        if seed == 20:
            for parameter, known in zip(resumed, ours):
                parameter.data.copy_(known.data)
            on = Adam(resumed, lr=1.0)
            on.load_state_dict(torchs.state_dict())
        for parameters, optimizer in [(ours, mine), (theirs, torchs)] + ([(resumed, on)] if seed >= 20 else []):
            gradients(parameters, seed)
            optimizer.step()
            optimizer.zero_grad()
            assert all(parameter.grad is None for parameter in parameters)
        if seed >= 20:
            on.param_groups[0]["lr"] = 0.01 / (2 + seed)
    for our, their, other in zip(ours, theirs, resumed):
        torch.testing.assert_close(our, their, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(other, their, atol=1e-6, rtol=1e-5)
    mine, torchs = mine.state_dict()["state"], torchs.state_dict()["state"]
    assert {number: set(moments) for number, moments in mine.items()} == {n: set(m) for n, m in torchs.items()}


def test_it_imports_no_compiler():
    program = (
        "import sys, torch; from train.runs.adam import Adam; p = torch.nn.Parameter(torch.ones(2))\n"
        "a = Adam([p], 0.1); (p * p).sum().backward(); torch.nn.utils.clip_grad_norm_([p], 1.0); a.step()\n"
        "print('torch._dynamo' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False"]
